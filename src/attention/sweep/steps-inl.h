// The steps from a similarity to a score, in the order of the operator: scale, softcap, bias,
// ALiBi. One struct per step: `apply` returns the score after it. All passes use these, so that a
// pass that recomputes scores gets the same bits. Included once for each target.
#if defined(HEED_SWEEP_STEPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_STEPS_INL_H
#undef HEED_SWEEP_STEPS_INL_H
#else
#define HEED_SWEEP_STEPS_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "attention/sweep/keys-inl.h"
#include "attention/sweep/load_keys-inl.h"
#include "attention/sweep/tile.h"
#include "hwy/cache_control.h"
#include "hwy/contrib/math/math-inl.h"
#include "simd/mask_lanes-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// The part of the scale that multiplies q before the product: q . k alone may overflow where the
/// score does not. All of it, but 1 with a scale near 0, from which the similarity could not be
/// recovered. Of q in pairs the largest power of 2, which changes no digit; 1 to 2 is left for the
/// scores.
inline double query_factor(const AttentionProblem& problem, std::int64_t head) {
  constexpr double kLeastScale = 0x1p-100;  // f32 holds the products of q with this
  const double scale = problem.scale[head];
  if (problem.score.similarity != Similarity::kDot || !(std::abs(scale) >= kLeastScale)) return 1;
  if (!problem.in_pairs) return scale;
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(scale) & ~kFraction);
}
inline double score_factor(const AttentionProblem& problem, std::int64_t head) {
  return problem.scale[head] / query_factor(problem, head);
}

/// Which steps a problem has beyond the product of scaled queries and keys.
struct Steps {
  bool scale = false;
  bool softcap = false;
  bool bias = false;
  bool alibi = false;
  bool far = false;          // scores rounded to f32, in an f64 pass
  bool scale_alone = false;  // the only step, by 1 to 2: keeps the order of scores and hides none

  explicit Steps(const AttentionProblem& problem)
      : softcap(problem.score.softcap > 0),
        bias(problem.score.bias.data != nullptr),
        alibi(problem.score.slope != nullptr),
        far(problem.far_scores_of_f32) {
    bool is_small = true;
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      const double factor = score_factor(problem, h);
      scale = scale || factor != 1;
      is_small = is_small && factor >= 1 && factor < 2;
    }
    scale_alone = scale && is_small && !(softcap || bias || alibi || far);
  }
  bool any() const { return scale || softcap || bias || alibi || far; }
};

/// The per-row numbers that the steps of a tile need.
template <typename T>
struct RowLanes {
  alignas(64) T scale[kTileRows];  // what is left of it after the queries' factor
  alignas(64) T slope[kTileRows];
  alignas(64) std::int64_t position[kTileRows];  // p_i
  alignas(64) std::uint32_t head[kTileRows];     // in the batch that the dropout seed is for

  void set(const AttentionProblem& problem, std::int64_t batch, const RowSet& rows) {
    std::fill_n(scale, kTileRows, T{1});
    std::fill_n(slope, kTileRows, T{0});
    std::fill_n(position, kTileRows, std::int64_t{0});
    std::fill_n(head, kTileRows, std::uint32_t{0});
    for (int s = 0; s < rows.segment_count; ++s) {
      const Segment& segment = rows.segments[s];
      for (int r = 0; r < segment.count; ++r) {
        const int lane = segment.lane + r;
        scale[lane] = static_cast<T>(score_factor(problem, segment.head));
        if (problem.score.slope != nullptr)
          slope[lane] = static_cast<T>(problem.score.slope[segment.head]);
        position[lane] = problem.sequences[batch].q_offset + segment.row + r;
        head[lane] = static_cast<std::uint32_t>(
            (problem.dropout.first_row + batch) * problem.heads + segment.head);
      }
    }
  }
};

/// Some keys and lanes of a tile: [key][stride], whole vectors from `lane` on. The memory begins at
/// key `key_begin` and lane `lane` of the tile.
template <typename T>
struct Patch {
  T* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t key_begin = 0;
  std::int64_t keys = 0;
  int lane = 0;
  int vectors = 0;

  int lanes() const { return vectors * kLanes<T>; }
};

/// data = step(data, key, lane) for every vector; key and lane are indices in the tile.
template <typename T, class Function>
HWY_INLINE void for_vectors(const Patch<T>& patch, const Function& step) {
  const Tag<T> d;
  T* line = patch.data;
  for (std::int64_t j = 0; j < patch.keys; ++j, line += patch.stride)
    for (int i = 0; i < patch.lanes(); i += kLanes<T>)
      hn::Store(step(hn::Load(d, line + i), patch.key_begin + j, patch.lane + i), d, line + i);
}

template <typename T>
struct ScaleStep {
  const T* scale;  // per row
  HWY_INLINE Vec<T> apply(Vec<T> z, std::int64_t /*key*/, int lane) const {
    return hn::Mul(z, hn::Load(Tag<T>(), scale + lane));
  }
};

/// cap tanh(z / cap).
template <typename T>
struct SoftcapStep {
  T cap;
  HWY_INLINE Vec<T> apply(Vec<T> z, std::int64_t /*key*/, int /*lane*/) const {
    const Tag<T> d;
    const auto x = hn::Div(z, hn::Set(d, cap));
    const auto tanh = hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
    const auto capped = hn::Mul(hn::Set(d, cap), tanh);
    // tanh(x) = x (1 - x^2/3 + ...): below this, z is the better result, and z / cap may be
    // denormal.
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, T(0x1p-27))), z, capped);
  }
  /// d after / d before.
  HWY_INLINE Vec<T> slope(Vec<T> after) const {
    const Tag<T> d;
    const auto tanh = hn::Div(after, hn::Set(d, cap));
    return hn::NegMulAdd(tanh, tanh, hn::Set(d, T{1}));
  }
};

/// In f32 tanh(x) = x P(x^2) / Q(x^2), the minimax of the relative error (2.2e-8) for |x| up to 9,
/// beyond which tanh is 1. P(0) = Q(0) = 1, so a z far below the cap stays as it is. With the
/// rounding of every operation the relative error is at most 3.3e-7.
template <>
struct SoftcapStep<float> {
  static constexpr float kOver[] = {1.0f, 0x1.1213c6p-3f, 0x1.ca6ad8p-9f, 0x1.5a356ep-16f,
                                    0x1.cbdf62p-27f};
  static constexpr float kUnder[] = {1.0f, 0x1.de5f30p-2f, 0x1.a816b4p-6f, 0x1.58d2fep-12f,
                                     0x1.a23b04p-21f};
  static constexpr float kLastSquare = 81;
  float cap;
  float inverse = 1 / cap;  // a cap is a normal number, and so is this

  HWY_INLINE Vec<float> apply(Vec<float> z, std::int64_t /*key*/, int /*lane*/) const {
    const Tag<float> d;
    const auto x = hn::Mul(z, hn::Set(d, inverse));
    const auto square = hn::Min(hn::Mul(x, x), hn::Set(d, kLastSquare));
    auto over = hn::Set(d, kOver[4]), under = hn::Set(d, kUnder[4]);
#pragma GCC unroll 4
    for (int i = 3; i >= 0; --i) {
      over = hn::MulAdd(over, square, hn::Set(d, kOver[i]));
      under = hn::MulAdd(under, square, hn::Set(d, kUnder[i]));
    }
#if HWY_TARGET == HWY_AVX3
    // A division of 512 bits takes as long as ten products. The estimate has 14 bits, and one step
    // of Newton's method doubles them.
    const auto near = hn::ApproximateReciprocal(under);
    const auto missing = hn::NegMulAdd(under, near, hn::Set(d, 1.0f));
    const auto ratio = hn::Mul(over, hn::MulAdd(near, missing, near));
#else
    const auto ratio = hn::Div(over, under);
#endif
    const auto capped = hn::Mul(z, ratio);
    const auto limited = hn::Min(hn::Set(d, cap), hn::Max(hn::Set(d, -cap), capped));
    if constexpr (HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86) return limited;  // NaN stays
    return hn::IfThenElse(hn::IsNaN(z), z, limited);
  }
  /// d after / d before.
  HWY_INLINE Vec<float> slope(Vec<float> after) const {
    const Tag<float> d;
    const auto tanh = hn::Mul(after, hn::Set(d, inverse));
    return hn::NegMulAdd(tanh, tanh, hn::Set(d, 1.0f));
  }
};

/// z - slope |p_i - p_j|. T cannot represent every distance: its rounding error is subtracted
/// first.
template <typename T>
struct AlibiStep {
  const T* slopes;
  alignas(64) T ahead[kTileRows];  // p_i minus the position of the tile's key 0
  bool near = true;                // T represents every distance of the tile

  AlibiStep(const RowLanes<T>& rows, std::int64_t first_key) : slopes(rows.slope) {
    constexpr std::int64_t kHeld = std::int64_t{1} << (std::numeric_limits<T>::digits - 1);
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      distances_[i] = rows.position[i] - first_key;
      ahead[i] = static_cast<T>(distances_[i]);
      near = near && std::abs(distances_[i]) < kHeld;
    }
  }
  HWY_INLINE Vec<T> apply(Vec<T> z, std::int64_t key, int lane) const {
    const Tag<T> d;
    const auto slope = hn::Load(d, slopes + lane);
    if (near) {
      const auto distance = hn::Sub(hn::Load(d, ahead + lane), hn::Set(d, static_cast<T>(key)));
      return hn::NegMulAdd(slope, hn::Abs(distance), z);
    }
    HWY_ALIGN T high[kLanes<T>], low[kLanes<T>];
    for (int i = 0; i < kLanes<T>; ++i) {
      const std::int64_t distance = std::abs(distances_[lane + i] - key);
      high[i] = static_cast<T>(distance);
      low[i] = static_cast<T>(distance - static_cast<std::int64_t>(high[i]));
    }
    z = hn::NegMulAdd(slope, hn::Load(d, low), z);
    return hn::NegMulAdd(slope, hn::Load(d, high), z);
  }

 private:
  std::int64_t distances_[kTileRows];
};

/// A patch of an additive bias, [key][lane] like the scores. Broadcast dimensions are never
/// expanded beyond it. -inf hides the pair like the mask.
template <typename T>
struct BiasStep {
  T* bias;  // [64 keys][stride]
  std::int64_t stride = 0;

  /// Loads the bias of a patch. `bias_end`: number of keys of the sequence.
  void read(const AttentionProblem& problem, std::int64_t batch, const RowSet& rows,
            const KeyRange& keys, const Patch<T>& patch) {
    stride = patch.stride;
    const int end = patch.lane + patch.lanes();
    if (rows.rows < end)
      for (std::int64_t j = 0; j < patch.keys; ++j)
        std::fill_n(bias + j * stride, patch.lanes(), T{0});
    for (int s = 0; s < rows.segment_count; ++s) {
      const Segment& all = rows.segments[s];
      const int begin = std::max(all.lane, patch.lane);
      const int count = std::min(all.lane + all.count, end) - begin;
      if (count <= 0) continue;
      const Segment part = {all.head, all.row + begin - all.lane, begin - patch.lane, count};
      read_segment(problem.score.bias, batch, part, keys.begin + patch.key_begin, patch.keys,
                   problem.sequences[batch].key_length);
    }
  }

  /// Adds the bias; clears the bits of -inf in `visible` (one word per key) and returns whether
  /// there were any.
  bool add(const Patch<T>& patch, std::uint64_t* visible) const {
    const Tag<T> d;
    const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
    std::uint64_t any = 0;
    for (std::int64_t j = 0; j < patch.keys; ++j) {
      std::uint64_t hidden = 0;
      for (int i = 0; i < patch.lanes(); i += kLanes<T>) {
        T* const at = patch.data + j * patch.stride + i;
        const auto more = hn::Load(d, bias + j * stride + i);
        hn::Store(hn::Add(hn::Load(d, at), more), d, at);
        std::uint64_t bits = 0;
        hn::StoreMaskBits(d, hn::Eq(more, lowest), reinterpret_cast<std::uint8_t*>(&bits));
        hidden |= bits << (patch.lane + i);
      }
      visible[patch.key_begin + j] &= ~hidden;
      any |= hidden;
    }
    return any != 0;
  }

 private:
  /// Loads the rows of one segment, whose `lane` counts from the patch; keys [first, first + keys).
  void read_segment(const Input& from, std::int64_t batch, const Segment& segment,
                    std::int64_t first, std::int64_t keys, std::int64_t key_length) {
    const bool in_place = from.dtype == kTypeOf<T> && from.column == 1;
    const std::int64_t begin = batch * from.batch + segment.head * from.head +
                               segment.row * from.row + first * from.column;
    T lines[4][kTileKeys];
    for (int i = 0; i < segment.count; i += 4) {
      const int rows = std::min(4, segment.count - i);
      const std::int64_t at = begin + i * from.row;
      const T* const line = in_place ? static_cast<const T*>(from.data) + at : lines[0];
      const std::int64_t row = in_place ? from.row : kTileKeys;
      for (int r = 0; r < rows; ++r) {
        if (!in_place)
          kernels::HWY_NAMESPACE::load_line(from, at + r * from.row, from.column, keys, lines[r]);
        else if (first + keys < key_length)  // rows are far apart, so no hardware prefetch
          for (std::int64_t ahead = 0; ahead < kTileKeys; ahead += 16)
            hwy::Prefetch(line + r * row + kTileKeys + ahead);
      }
      rows_to_lanes(rows, line, row, keys, T{1}, bias + segment.lane + i, stride);
    }
  }
};

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
