// Turns scores into weights: a softmax over keys that arrive in tiles (Milakov & Gimelshein 2018,
// algorithm 3), sigmoid, or the identity. Included once for each target.
#if defined(HEED_SWEEP_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_SOFTMAX_INL_H
#undef HEED_SWEEP_SOFTMAX_INL_H
#else
#define HEED_SWEEP_SOFTMAX_INL_H
#endif

#include <cmath>
#include <limits>

#include "attention/sweep/pairs-inl.h"
#include "attention/sweep/scores-inl.h"
#include "hwy/contrib/math/math-inl.h"
#include "simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {
using cpu::HWY_NAMESPACE::exp;
using cpu::HWY_NAMESPACE::exp_each;

template <typename T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

/// The state of a softmax over 64 rows, after some of their keys.
template <typename T>
struct OnlineSoftmax {
  alignas(64) T maximum[kTileRows];
  alignas(64) T top[kTileRows];        // the maximum of the latest patch's scores
  alignas(64) T reference[kTileRows];  // subtracted from those scores
  alignas(64) T sum[kTileRows];
  alignas(64) T sum_low[kTileRows];     // the rounding error of `sum`
  alignas(64) T multiplied[kTileRows];  // the sum of the weights as they multiply V
  alignas(64) T factor[kTileRows];      // scale of earlier sums and outputs after `begin`
  std::uint64_t seen = 0;               // rows that had a visible key

  /// Before the first keys of `rows` rows.
  void start(int rows) {
    const int lanes = strips_of<T>(rows) * kStripRows<T>;
    fill_vectors(maximum, lanes, kLowest<T>);
    fill_vectors(sum, lanes, T{0});
    fill_vectors(sum_low, lanes, T{0});
    if (kHasPairs<T>) fill_vectors(multiplied, lanes, T{0});
    fill_vectors(factor, lanes, T{1});
    seen = 0;
  }
  /// The sums of the first `rows` rows, and their logarithms in whole vectors. One library call per
  /// row took a twentieth of the time of 16 rows and 16 keys.
  void sum_up(int rows, double* sums, double* logs) const {
    const Tag<double> d;
    for (int i = 0; i < (rows + kLanes<double> - 1) / kLanes<double> * kLanes<double>; ++i)
      sums[i] = static_cast<double>(sum[i]) + static_cast<double>(sum_low[i]);
    if constexpr (std::is_same_v<T, double>)  // rounds once
      for (int i = 0; i < rows; ++i) logs[i] = std::log(sums[i]);
    else
      for (int i = 0; i < rows; i += kLanes<double>)
        hn::Store(hn::Log(d, hn::Load(d, sums + i)), d, logs + i);
  }

  /// Initialises `top` before the scores of a patch are read.
  void start_top(const Patch<T>& patch) {
    fill_vectors(top + patch.lane, patch.lanes(), kLowest<T>);
  }
  /// Computes `top` for a patch. Hidden scores are -inf.
  void find_top(const Patch<T>& patch) {
    const Tag<T> d;
    for (int i = 0; i < patch.lanes(); i += kLanes<T>) {
      const T* const column = patch.data + i;
      auto m0 = hn::Set(d, kLowest<T>), m1 = m0;
      std::int64_t j = 0;
      for (; j + 2 <= patch.keys; j += 2) {
        m0 = hn::Max(m0, hn::Load(d, column + j * patch.stride));
        m1 = hn::Max(m1, hn::Load(d, column + (j + 1) * patch.stride));
      }
      if (j < patch.keys) m0 = hn::Max(m0, hn::Load(d, column + j * patch.stride));
      hn::Store(hn::Max(m0, m1), d, top + patch.lane + i);
    }
  }
  /// Turns the scores of a patch into weights relative to the new maximum: first `begin`, then
  /// `weigh`. If `scale` is given, the scores are still to be multiplied by it; it is positive.
  void begin(const Patch<T>& patch, const T* scale = nullptr) {
    const Tag<T> d;
    const auto zero = hn::Zero(d);
    for (int at = patch.lane; at < patch.lane + patch.lanes(); at += kLanes<T>) {
      auto highest = hn::Load(d, top + at);
      if (scale != nullptr) highest = hn::Mul(highest, hn::Load(d, scale + at));
      highest = hn::Max(hn::Load(d, maximum + at), highest);
      // A row without a visible key keeps -inf as maximum; its reference is 0, so that -inf scores
      // weigh 0.
      const auto subtracted =
          hn::IfThenElse(hn::Eq(highest, hn::Set(d, kLowest<T>)), zero, highest);
      hn::Store(exp(d, hn::Sub(hn::Load(d, maximum + at), subtracted)), d, factor + at);
      hn::Store(subtracted, d, reference + at);
      hn::Store(highest, d, maximum + at);
    }
  }
  void weigh(const Patch<T>& patch) {
    // Two keys of two vectors fill the registers; e^x in double already has several chains.
    constexpr int kTogether = std::is_same_v<T, float> && kStripVectors > 1 ? 2 : 1;
    if (patch.vectors < kTogether) return weigh_vectors<1>(patch, 0);
    for (int v = 0; v < patch.vectors; v += kTogether)
      weigh_vectors<kTogether>(patch, v * kLanes<T>);
  }

#if HWY_TARGET == HWY_AVX3
  /// The same with the weights as pairs of bf16, two keys per line of `to`.
  void weigh_in_pairs(const Patch<float>& patch, const float* scale, float* to) {
    for (int lane = 0; lane < patch.lanes(); lane += kLanes<T>) {
      if (scale != nullptr)
        weigh_vector_in_pairs<true>(patch, lane, scale, to);
      else
        weigh_vector_in_pairs<false>(patch, lane, scale, to);
    }
  }
#endif

 private:
#if HWY_TARGET == HWY_AVX3
  template <bool kScaled>
  HWY_INLINE void weigh_vector_in_pairs(const Patch<float>& patch, int first, const float* scale,
                                        float* to) {
    const Tag<float> d;
    const int at = patch.lane + first;
    const auto subtracted = hn::Load(d, reference + at);
    const auto factors = hn::Load(d, factor + at);
    const auto scales = kScaled ? hn::Load(d, scale + at) : factors;
    const auto ones = pair_of(hn::Set(d, 1.0f), hn::Set(d, 1.0f));
    auto first_sum = hn::Zero(d), second_sum = first_sum, rounded = first_sum;
    const std::int64_t stride = patch.stride;
    const float* line = patch.data + first;
    to += first;
    const auto difference = [&](const float* of) HWY_ATTR {
      auto z = hn::Load(d, of);
      if (kScaled) z = hn::Mul(z, scales);
      return hn::Sub(z, subtracted);
    };
    const auto put = [&](Vec<float> x, Vec<float> y) HWY_ATTR {
      first_sum = hn::Add(first_sum, x);
      second_sum = hn::Add(second_sum, y);
      const auto pair = pair_of(x, y);
      hn::Store(pair, d, to);
      rounded = MultiplyPairs()(pair, ones, rounded);
      to += stride;
    };
    constexpr int kTogether = 8;
    std::int64_t left = patch.keys;
    for (; left >= kTogether; left -= kTogether) {
      Vec<float> x[kTogether];
#pragma GCC unroll 8
      for (int i = 0; i < kTogether; ++i, line += stride) x[i] = difference(line);
      exp_each(d, x);
#pragma GCC unroll 4
      for (int i = 0; i < kTogether; i += 2) put(x[i], x[i + 1]);
    }
    for (; left > 0; left -= 2, line += 2 * stride) {
      Vec<float> x[2] = {difference(line),
                         left > 1 ? difference(line + stride) : hn::Set(d, kLowest<float>)};
      exp_each(d, x);
      put(x[0], x[1]);
    }
    add_to_sum(hn::Add(first_sum, second_sum), factors, at);
    hn::Store(hn::MulAdd(hn::Load(d, multiplied + at), factors, rounded), d, multiplied + at);
  }
#endif

  /// Turns kKeys lines of scores into weights, and adds them to the sums of even and odd keys.
  template <int kKeys, int kVectors>
  HWY_INLINE void weigh_keys(T* at, std::int64_t stride, const Vec<T> (&subtracted)[kVectors],
                             Vec<T> (&sums)[2][kVectors]) {
    const Tag<T> d;
    Vec<T> x[kKeys * kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kKeys * kVectors; ++i)
      x[i] = hn::Sub(hn::Load(d, at + i / kVectors * stride + i % kVectors * kLanes<T>),
                     subtracted[i % kVectors]);
    exp_each(d, x);
#pragma GCC unroll 8
    for (int i = 0; i < kKeys * kVectors; ++i) {
      hn::Store(x[i], d, at + i / kVectors * stride + i % kVectors * kLanes<T>);
      auto& of_parity = sums[i / kVectors][i % kVectors];
      of_parity = hn::Add(of_parity, x[i]);
    }
  }

  template <int kVectors>
  HWY_INLINE void weigh_vectors(const Patch<T>& patch, int first) {
    const Tag<T> d;
    const int lane = patch.lane + first;
    Vec<T> subtracted[kVectors], sums[2][kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      subtracted[v] = hn::Load(d, reference + lane + v * kLanes<T>);
      sums[0][v] = sums[1][v] = hn::Zero(d);
    }
    const std::int64_t stride = patch.stride;
    T* scores = patch.data + first;
    std::int64_t left = patch.keys;
    for (; left >= 2; left -= 2, scores += 2 * stride)
      weigh_keys<2, kVectors>(scores, stride, subtracted, sums);
    if (left > 0) weigh_keys<1, kVectors>(scores, stride, subtracted, sums);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int at = lane + v * kLanes<T>;
      add_to_sum(hn::Add(sums[0][v], sums[1][v]), hn::Load(d, factor + at), at);
    }
  }

  /// sum + sum_low = (sum + sum_low) * scale + weights. sum_low keeps what T would lose of a long
  /// row's sum (Knuth's two-sum), so that recomputed rows sum to 1 at any length.
  HWY_INLINE void add_to_sum(Vec<T> weights, Vec<T> scale, int lane) {
    const Tag<T> d;
    const auto before = hn::Load(d, sum + lane);
    const auto scaled = hn::Mul(before, scale);
    const auto total = hn::Add(scaled, weights);
    const auto added = hn::Sub(total, scaled);
    const auto lost = hn::Add(hn::Sub(scaled, hn::Sub(total, added)), hn::Sub(weights, added));
    const auto rounded = hn::MulSub(before, scale, scaled);
    hn::Store(total, d, sum + lane);
    hn::Store(hn::MulAdd(hn::Load(d, sum_low + lane), scale, hn::Add(rounded, lost)), d,
              sum_low + lane);
  }
};

/// The log-sum-exp of a row, and the factor of its output.
struct RowEnd {
  LogSum lse;
  double factor = 1;
};

/// A row without a visible key has the log-sum-exp of the sink (-inf without one) and an output of
/// 0. A row with only -inf scores and no sink is NaN, as in IEEE arithmetic. The sink adds a term
/// to the sum and has no value.
inline RowEnd end_of_row(double maximum, double sum, double log_of_sum, bool seen, double sink) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kNone = kLowest<double>;
  if (!seen) return {{sink, 0}, 0};
  if (sink != kNone) {
    const double reference = std::isnan(sum) || maximum > sink ? maximum : sink;
    const double own = std::exp(maximum - reference);
    const double total = sum * own + std::exp(sink - reference);
    return {{reference, std::log(total)}, own / total};
  }
  if (!(sum > 0)) return {{kNan, 0}, kNan};
  return {{maximum, log_of_sum}, 1 / sum};
}

/// The log-sum-exp of a tile's rows, as a sum of two T; 0 in lanes without a row.
template <typename T>
struct RowLse {
  alignas(64) T high[kTileRows] = {};
  alignas(64) T low[kTileRows] = {};

  void read(const T* lse, const T* lse_low, std::int64_t rows) {
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      high[i] = i < rows ? lse[i] : T{0};
      low[i] = i < rows && std::isfinite(lse[i]) ? lse_low[i] : T{0};
    }
  }
  /// score - lse: the logarithm of a weight. Subtracts the halves one by one: at 10^9 their sum
  /// would lose the low half.
  HWY_INLINE Vec<T> below(Vec<T> score, int lane) const {
    const Tag<T> d;
    return hn::Sub(hn::Sub(score, hn::Load(d, high + lane)), hn::Load(d, low + lane));
  }
};

/// 1 / (1 + e^-z); 0 where that is below the normal numbers.
template <typename T>
HWY_INLINE Vec<T> sigmoid(Vec<T> z) {
  const Tag<T> d;
  const auto one = hn::Set(d, T{1});
  // e^88 is near the end of f32's range, and the sigmoid of -88 near its beginning.
  const auto most = hn::Set(d, std::is_same_v<T, float> ? T(88) : T(709));
  const auto minus = hn::Neg(z);
  const auto power = exp(d, hn::IfThenElse(hn::IsNaN(z), z, hn::Min(most, minus)));
  return hn::IfThenZeroElse(hn::Gt(minus, most), hn::Div(one, hn::Add(one, power)));
}

/// Turns scores into weights for a normaliser without a sum.
template <typename T>
void weigh_alone(Normaliser normaliser, const Patch<T>& patch) {
  if (normaliser != Normaliser::kSigmoid) return;
  for_vectors(patch, [](Vec<T> z, std::int64_t, int) HWY_ATTR { return sigmoid<T>(z); });
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
