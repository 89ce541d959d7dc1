// Vectors of floats that may end inside an array.
#if defined(HEED_SIMD_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SIMD_LANES_INL_H
#undef HEED_SIMD_LANES_INL_H
#else
#define HEED_SIMD_LANES_INL_H
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

constexpr float kLog2e = 1.44269504088896341F;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The `count` < lanes values at `from`, `rest` in the other lanes.
HWY_INLINE FloatVector load_part(const float* from, std::int64_t count, float rest = 0) {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(Floats(), rest), Floats(), lanes);
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(float));
  return hn::Load(Floats(), lanes);
}

HWY_INLINE void store_part(FloatVector vector, std::int64_t count, float* to) {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(vector, Floats(), lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(float));
}

HWY_INLINE float sum_of(FloatVector vector) {
  return hn::GetLane(hn::SumOfLanes(Floats(), vector));
}

// The largest element, kLowest if there is none; may lose a NaN.
HWY_INLINE float largest_of(const float* x, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  auto largest = hn::Set(Floats(), kLowest);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) largest = hn::Max(largest, hn::LoadU(Floats(), x + i));
  if (i < count) largest = hn::Max(largest, load_part(x + i, count - i, kLowest));
  return hn::GetLane(hn::MaxOfLanes(Floats(), largest));
}

// `step(i, load, store)` for whole vectors and then once for the rest. `load(pointer)` reads lanes
// at pointer + i, zeros past the end; `store(vector, pointer)` writes the lanes that exist.
template <typename Step>
HWY_INLINE void for_lanes(std::int64_t count, const Step& step) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    step([i](const float* from) HWY_ATTR { return hn::LoadU(Floats(), from + i); },
         [i](FloatVector vector, float* to) HWY_ATTR { hn::StoreU(vector, Floats(), to + i); });
  if (i < count)
    step([i, count](const float* from) HWY_ATTR { return load_part(from + i, count - i); },
         [i, count](FloatVector vector, float* to)
             HWY_ATTR { store_part(vector, count - i, to + i); });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
