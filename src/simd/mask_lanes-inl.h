// The part of a mask's word for one vector of rows. Included once for each target.
#if defined(HEED_KERNELS_MASK_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_MASK_LANES_INL_H
#undef HEED_KERNELS_MASK_LANES_INL_H
#else
#define HEED_KERNELS_MASK_LANES_INL_H
#endif

#include <bit>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
static_assert(std::endian::native == std::endian::little, "bit i is row i in memory, too");

/// Bits `row`, `row + 1`, ... of `word` as a mask. A vector of four rows may begin in the middle of
/// a byte, where LoadMaskBits cannot.
template <typename Tag>
HWY_INLINE hwy::HWY_NAMESPACE::Mask<Tag> mask_lanes(Tag tag, std::uint64_t word, std::int64_t row) {
  const std::uint64_t bits = word >> row;
  return hwy::HWY_NAMESPACE::LoadMaskBits(tag, reinterpret_cast<const std::uint8_t*>(&bits));
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
