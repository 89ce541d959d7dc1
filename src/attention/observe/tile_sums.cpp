// The observers' arithmetic on a tile of 64 rows x keys, while it is in the L1 cache.
//
// Four vectors of 16 rows advance along the keys together: four chains hide the latency of an add,
// and a tile of 64 x 64 takes 256 to 500 cycles, while its scores take 8,200 (D = 64). Sums within
// a tile are in f32, sums over tiles in f64: 64 terms cost less than 1e-6 of their sum.
#include "attention/observe/tile_sums.h"

// Without AVX2 a vector is one float (g++ 12.2 has no 128-bit fallback with shuffles).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/observe/tile_sums.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/mask_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

constexpr std::int64_t kRows = 64;
constexpr int kChains = 4;

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Floats())); }

// sums[i] += vector, in double.
HWY_INLINE void add_to_sums(Vector vector, double* sums) {
  HWY_ALIGN float each[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(vector, Floats(), each);
  for (std::int64_t i = 0; i < lanes(); ++i) sums[i] += static_cast<double>(each[i]);
}

// gather(j, i, sum) adds the terms of key j for rows [i, i + lanes); the sums over all keys go to
// `sums`.
template <class Gather>
HWY_INLINE void add_lines(std::int64_t keys, double* sums, const Gather& gather) {
  const std::int64_t n = lanes();
  for (std::int64_t i = 0; i < kRows; i += kChains * n) {
    Vector s0 = hn::Zero(Floats()), s1 = s0, s2 = s0, s3 = s0;
    for (std::int64_t j = 0; j < keys; ++j) {
      s0 = gather(j, i, s0);
      s1 = gather(j, i + n, s1);
      s2 = gather(j, i + 2 * n, s2);
      s3 = gather(j, i + 3 * n, s3);
    }
    add_to_sums(s0, sums + i);
    add_to_sums(s1, sums + i + n);
    add_to_sums(s2, sums + i + 2 * n);
    add_to_sums(s3, sums + i + 3 * n);
  }
}

void entropies_of_tile(const float* weights, const float* log_weights, std::int64_t keys,
                       double* sums) {
  const Vector zero = hn::Zero(Floats());
  add_lines(keys, sums, [=](std::int64_t j, std::int64_t i, Vector sum) HWY_ATTR {
    const Vector p = hn::Load(Floats(), weights + j * kRows + i);
    const Vector log = hn::Load(Floats(), log_weights + j * kRows + i);
    return hn::NegMulAdd(p, hn::IfThenElseZero(hn::Ne(p, zero), log), sum);
  });
}

void distances_of_tile(const float* weights, std::int64_t keys, std::int64_t first, double* sums) {
  const Vector rows = hn::Iota(Floats(), 0);
  add_lines(keys, sums, [=](std::int64_t j, std::int64_t i, Vector sum) HWY_ATTR {
    const Vector nearest = hn::Set(Floats(), static_cast<float>(first - j + i));
    const Vector p = hn::Load(Floats(), weights + j * kRows + i);
    return hn::MulAdd(p, hn::Abs(hn::Add(nearest, rows)), sum);
  });
}

void keys_of_tile(const float* weights, std::int64_t keys, double* sums) {
  add_lines(keys, sums, [=](std::int64_t j, std::int64_t i, Vector sum) HWY_ATTR {
    return hn::Add(sum, hn::Load(Floats(), weights + j * kRows + i));
  });
}

void rows_of_tile(const float* weights, std::int64_t keys, double* sums) {
  for (std::int64_t j = 0; j < keys; ++j, weights += kRows) {
    Vector sum = hn::Load(Floats(), weights);
    for (std::int64_t i = lanes(); i < kRows; i += lanes())
      sum = hn::Add(sum, hn::Load(Floats(), weights + i));
    sums[j] = static_cast<double>(hn::GetLane(hn::SumOfLanes(Floats(), sum)));
  }
}

void largest_of_tile(const float* weights, std::int64_t keys, float* largest) {
  const std::int64_t n = lanes();
  const Vector zero = hn::Zero(Floats());
  for (std::int64_t i = 0; i < kRows; i += 2 * n) {
    Vector m0 = hn::LoadU(Floats(), largest + i), m1 = hn::LoadU(Floats(), largest + i + n);
    Vector n0 = hn::IfThenElseZero(hn::IsNaN(m0), m0), n1 = hn::IfThenElseZero(hn::IsNaN(m1), m1);
    for (std::int64_t j = 0; j < keys; ++j) {
      const Vector p0 = hn::Load(Floats(), weights + j * kRows + i);
      const Vector p1 = hn::Load(Floats(), weights + j * kRows + i + n);
      m0 = hn::Max(m0, p0);
      m1 = hn::Max(m1, p1);
      n0 = hn::IfThenElse(hn::IsNaN(p0), p0, n0);
      n1 = hn::IfThenElse(hn::IsNaN(p1), p1, n1);
    }
    hn::StoreU(hn::IfThenElse(hn::Eq(n0, zero), m0, n0), Floats(), largest + i);
    hn::StoreU(hn::IfThenElse(hn::Eq(n1, zero), m1, n1), Floats(), largest + i + n);
  }
}

void rows_above(const float* weights, std::int64_t keys, const float* least, std::uint64_t* found) {
  for (std::int64_t j = 0; j < keys; ++j) {
    std::uint64_t word = 0;
    for (std::int64_t i = 0; i < kRows; i += lanes()) {
      const Vector p = hn::Load(Floats(), weights + j * kRows + i);
      const auto above = hn::Not(hn::Le(p, hn::LoadU(Floats(), least + i)));
      std::uint64_t bits = 0;
      hn::StoreMaskBits(Floats(), above, reinterpret_cast<std::uint8_t*>(&bits));
      word |= bits << i;
    }
    found[j] = word;
  }
}

void tile_times_norms(const float* weights, const std::uint64_t* visible, const float* norms,
                      std::int64_t keys, float* scaled) {
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t i = 0; i < kRows; i += lanes()) {
      const auto seen = mask_lanes(Floats(), visible[j], i);
      const Vector p = hn::Load(Floats(), weights + j * kRows + i);
      hn::Store(hn::IfThenElseZero(seen, hn::Mul(p, hn::Set(Floats(), norms[j]))), Floats(),
                scaled + j * kRows + i);
    }
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(entropies_of_tile);
HWY_EXPORT(distances_of_tile);
HWY_EXPORT(keys_of_tile);
HWY_EXPORT(rows_of_tile);
HWY_EXPORT(largest_of_tile);
HWY_EXPORT(rows_above);
HWY_EXPORT(tile_times_norms);

void add_entropies(const float* weights, const float* log_weights, std::int64_t keys,
                   double* sums) {
  HWY_DYNAMIC_DISPATCH(entropies_of_tile)(weights, log_weights, keys, sums);
}

void add_distances(const float* weights, std::int64_t keys, std::int64_t first, double* sums) {
  HWY_DYNAMIC_DISPATCH(distances_of_tile)(weights, keys, first, sums);
}

void add_keys(const float* weights, std::int64_t keys, double* sums) {
  HWY_DYNAMIC_DISPATCH(keys_of_tile)(weights, keys, sums);
}

void sum_rows(const float* weights, std::int64_t keys, double* sums) {
  HWY_DYNAMIC_DISPATCH(rows_of_tile)(weights, keys, sums);
}

void raise_to_keys(const float* weights, std::int64_t keys, float* largest) {
  HWY_DYNAMIC_DISPATCH(largest_of_tile)(weights, keys, largest);
}

void find_above(const float* weights, std::int64_t keys, const float* least, std::uint64_t* found) {
  HWY_DYNAMIC_DISPATCH(rows_above)(weights, keys, least, found);
}

void scale_keys(const float* weights, const std::uint64_t* visible, const float* norms,
                std::int64_t keys, float* scaled) {
  HWY_DYNAMIC_DISPATCH(tile_times_norms)(weights, visible, norms, keys, scaled);
}

}  // namespace heed::kernels
#endif
