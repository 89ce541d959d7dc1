// Largest, sum and count of each row over a run of keys, kept in registers.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/pool_lanes.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/pool_lanes.h"

#include <limits>

#include "hwy/highway.h"
#include "simd/mask_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kMaskRows>;
using Counts = hn::RebindToSigned<Floats>;

struct Pool {
  hn::Vec<Floats> largest;
  hn::Vec<Floats> sum;
  hn::Vec<Counts> visible;
};

// The larger one; NaN if either is NaN.
HWY_INLINE hn::Vec<Floats> larger(hn::Vec<Floats> a, hn::Vec<Floats> b) {
  return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
}

template <bool kSums>
HWY_INLINE void add_all(Pool& pool, hn::Vec<Floats> values) {
  pool.largest = larger(pool.largest, values);
  if constexpr (kSums) pool.sum = hn::Add(pool.sum, values);
}

template <bool kSums>
HWY_INLINE void add(Pool& pool, hn::Vec<Floats> values, hn::Mask<Floats> seen) {
  pool.largest = hn::IfThenElse(seen, larger(pool.largest, values), pool.largest);
  if constexpr (!kSums) return;
  pool.sum = hn::Add(pool.sum, hn::IfThenElseZero(seen, values));
  pool.visible = hn::Sub(pool.visible, hn::VecFromMask(Counts(), hn::RebindMask(Counts(), seen)));
}

template <bool kSums>
HWY_INLINE void store(const Pool& pool, std::int32_t whole, std::size_t lane, LanePools& pools) {
  hn::Store(pool.largest, Floats(), pools.largest.data() + lane);
  if constexpr (!kSums) return;
  hn::Store(pool.sum, Floats(), pools.sum.data() + lane);
  hn::Store(hn::Add(pool.visible, hn::Set(Counts(), whole)), Counts(), pools.visible.data() + lane);
}

// Two vectors of rows together, because each chain waits for its maximum.
template <bool kSums>
HWY_INLINE void pool(const float* values, const std::uint64_t* visible, std::int64_t keys,
                     std::uint64_t rows, LanePools& pools) {
  const std::size_t lanes = hn::Lanes(Floats());
  const std::size_t second = lanes < kMaskRows ? lanes : 0;  // the same if one vector holds all
  for (std::size_t lane = 0; lane < kMaskRows; lane += lanes + second) {
    Pool a = {hn::Set(Floats(), -std::numeric_limits<float>::infinity()), hn::Zero(Floats()),
              hn::Zero(Counts())};
    Pool b = a;
    std::int32_t whole = 0;  // keys that all rows see
    for (std::int64_t key = 0; key < keys; ++key) {
      const float* const line = values + static_cast<std::size_t>(key) * kMaskRows + lane;
      const auto here = hn::LoadU(Floats(), line), there = hn::LoadU(Floats(), line + second);
      const std::uint64_t word = visible[key] & rows;
      if (word == ~std::uint64_t{0}) {
        add_all<kSums>(a, here);
        add_all<kSums>(b, there);
        ++whole;
      } else if (word != 0) {
        add<kSums>(a, here, mask_lanes(Floats(), word, static_cast<std::int64_t>(lane)));
        add<kSums>(b, there, mask_lanes(Floats(), word, static_cast<std::int64_t>(lane + second)));
      }
    }
    store<kSums>(a, whole, lane, pools);
    store<kSums>(b, whole, lane + second, pools);
  }
}

void pool_rows(const float* values, const std::uint64_t* visible, std::int64_t keys,
               std::uint64_t rows, LanePools& pools) {
  if (pools.sums)
    pool<true>(values, visible, keys, rows, pools);
  else
    pool<false>(values, visible, keys, rows, pools);
}

// Entry i becomes the pool of entries 2 i and 2 i + 1; entries past the last are undefined.
template <typename Tag, typename Value, typename Join>
HWY_INLINE void halve(Tag d, Value* entries, std::size_t count, const Join& join) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t i = 0; i < count / 2; ++i)
    hn::Store(join(hn::Load(d, entries + 2 * i), hn::Load(d, entries + 2 * i + 1)), d, entries + i);
#else
  for (std::size_t i = 0; i < count / 2; i += hn::Lanes(d)) {
    const auto low = hn::Load(d, entries + 2 * i),
               high = hn::Load(d, entries + 2 * i + hn::Lanes(d));
    hn::Store(join(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low)), d, entries + i);
  }
#endif
}

void fold_rows(LanePools& pools, int times) {
  const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
  const auto most = [](auto a, auto b) HWY_ATTR { return larger(a, b); };
  for (std::size_t count = kMaskRows; times > 0; --times, count /= 2) {
    halve(Floats(), pools.largest.data(), count, most);
    if (!pools.sums) continue;
    halve(Floats(), pools.sum.data(), count, add);
    halve(Counts(), pools.visible.data(), count, add);
  }
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(pool_rows);
HWY_EXPORT(fold_rows);

}  // namespace

void cpu::pool_lanes(const float* values, const std::uint64_t* visible, std::int64_t keys,
                     std::uint64_t rows, LanePools& pools) {
  HWY_DYNAMIC_DISPATCH(pool_rows)(values, visible, keys, rows, pools);
}

void cpu::fold_lanes(LanePools& pools, int times) { HWY_DYNAMIC_DISPATCH(fold_rows)(pools, times); }

}  // namespace heed::kernels
#endif
