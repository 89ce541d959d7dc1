// Rows of f32, f16 or bf16: read as floats, written from them and rounded once (to nearest even).
// Included once for each target.
#if defined(HEED_KERNELS_CPU_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ELEMENTS_INL_H
#undef HEED_KERNELS_CPU_ELEMENTS_INL_H
#else
#define HEED_KERNELS_CPU_ELEMENTS_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "heed/tensor/bf16.h"
#include "heed/tensor/f16.h"
#include "hwy/highway.h"
#include "kernels/attention.h"
#include "kernels/cpu/tile_product-inl.h"
#include "kernels/load_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls `use` with a null pointer to elements of the type.
template <typename Use>
inline void with_type(DType dtype, const Use& use) {
  if (dtype == DType::kF16)
    use(static_cast<f16*>(nullptr));
  else if (dtype == DType::kBF16)
    use(static_cast<bf16*>(nullptr));
  else
    use(static_cast<float*>(nullptr));
}

/// The rows from (batch, head, row) on.
template <typename Pointer>
Strided<Pointer> rows_at(Strided<Pointer> x, std::int64_t batch, std::int64_t head,
                         std::int64_t row) {
  constexpr bool kConst = std::is_const_v<std::remove_pointer_t<Pointer>>;
  using Byte = std::conditional_t<kConst, const char*, char*>;
  const auto bytes = static_cast<std::int64_t>(size_bytes(x.dtype));
  x.data = static_cast<Byte>(x.data) + bytes * (batch * x.batch + head * x.head + row * x.row);
  return x;
}

template <typename T>
HWY_INLINE void store_lanes(hn::Vec<Lanes> x, T* to) {
  const Lanes d;
  if constexpr (std::is_same_v<T, f16> && HWY_TARGET == HWY_SCALAR) {
    *to = f16(hn::GetLane(x));  // Highway's has no infinity there
  } else if constexpr (std::is_same_v<T, f16>) {
    const hn::Rebind<hwy::float16_t, Lanes> half;
    hn::StoreU(hn::DemoteTo(half, x), half, reinterpret_cast<hwy::float16_t*>(to));
  } else if constexpr (std::is_same_v<T, bf16>) {
    const hn::RebindToSigned<Lanes> words;
    const hn::Rebind<std::uint16_t, Lanes> half;
    const auto bits = hn::BitCast(hn::RebindToUnsigned<Lanes>(), x);
    const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(hn::DFromV<decltype(bits)>(), 1));
    const auto rounding = hn::Add(last, hn::Set(hn::DFromV<decltype(bits)>(), 0x7FFF));
    const auto quiet = hn::Or(bits, hn::Set(hn::DFromV<decltype(bits)>(), 0x400000));
    const auto is_nan = hn::RebindMask(hn::DFromV<decltype(bits)>(), hn::IsNaN(x));
    const auto rounded = hn::IfThenElse(is_nan, quiet, hn::Add(bits, rounding));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(words, hn::ShiftRight<16>(rounded))), half,
               reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::StoreU(x, d, to);
  }
}

/// Rows `count` x `width` into `to` with unit column stride, zeros up to `stride`.
inline void copy_tile(const Input& from, std::int64_t count, std::int64_t width,
                      std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < count; ++i, to += stride) {
    kernels::HWY_NAMESPACE::load_line(from, i * from.row, from.column, width, to);
    std::fill(to + width, to + stride, 0.0f);
  }
}

/// The rounding error of `store_lanes`; 0 where it is not finite.
template <typename T>
HWY_INLINE hn::Vec<Lanes> rest_of(hn::Vec<Lanes> x) {
  T stored[kLanes];
  store_lanes(x, stored);
  const auto high = kernels::HWY_NAMESPACE::load_lanes(stored);
  return hn::IfThenElseZero(hn::IsFinite(high), hn::Sub(x, high));
}

/// `to` = factor * from; with `rest`, the rounding error of that instead. The memory of `from` goes
/// on to a whole vector, and the last elements take the same instructions as the others, so that a
/// NaN has the same bits wherever it stands.
template <typename T>
inline void write_line(const float* from, float factor, std::int64_t width, std::int64_t column,
                       bool rest, T* to) {
  const Lanes d;
  for (std::int64_t x = 0; x < width; x += kLanes) {
    auto value = hn::Mul(hn::Load(d, from + x), hn::Set(d, factor));
    if (rest) value = rest_of<T>(value);
    if (column == 1 && x + kLanes <= width) {
      store_lanes(value, to + x);
      continue;
    }
    T some[kLanes];
    store_lanes(value, some);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(kLanes, width - x); ++i)
      to[(x + i) * column] = some[i];
  }
}

/// Row `row` of `to`.
inline void write_row(const float* from, float factor, std::int64_t width, std::int64_t row,
                      const Output& to, bool rest = false) {
  with_type(to.dtype, [&]<typename T>(T*) HWY_ATTR {
    write_line(from, factor, width, to.column, rest, static_cast<T*>(to.data) + row * to.row);
  });
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
