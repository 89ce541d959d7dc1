// Scores to weights: a softmax over keys that come in tiles (Milakov & Gimelshein 2018, algorithm
// 3), sigmoid, or as they are. Included once for each target.
#if defined(HEED_SWEEP_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_SOFTMAX_INL_H
#undef HEED_SWEEP_SOFTMAX_INL_H
#else
#define HEED_SWEEP_SOFTMAX_INL_H
#endif

#include <cmath>
#include <limits>

#include "kernels/sweep/exp-inl.h"
#include "kernels/sweep/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {
using cpu::HWY_NAMESPACE::exp;

template <typename T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

/// What a softmax knows of 64 rows so far.
template <typename T>
struct OnlineSoftmax {
  alignas(64) T maximum[kTileRows];
  alignas(64) T sum[kTileRows];
  alignas(64) T sum_low[kTileRows];  // what rounding has taken from `sum`
  alignas(64) T factor[kTileRows];   // what earlier sums and outputs are worth after `update`
  std::uint64_t seen = 0;            // rows that had a visible key

  void start() {
    std::fill_n(maximum, kTileRows, kLowest<T>);
    std::fill_n(sum, kTileRows, T{0});
    std::fill_n(sum_low, kTileRows, T{0});
    std::fill_n(factor, kTileRows, T{1});
    seen = 0;
  }

  /// The scores of a patch become weights against the new maximum. Hidden scores are -inf.
  void update(const Patch<T>& patch) {
    for (int i = 0; i < patch.lanes(); i += kLanes<T>)
      update_lanes(patch.data + i, patch.stride, patch.keys, patch.lane + i);
  }

 private:
  HWY_INLINE void update_lanes(T* column, std::int64_t stride, std::int64_t keys, int lane) {
    const Tag<T> d;
    const auto zero = hn::Zero(d);
    const auto before = hn::Load(d, maximum + lane);
    auto m0 = before, m1 = before;
    std::int64_t j = 0;
    for (; j + 2 <= keys; j += 2) {
      m0 = hn::Max(m0, hn::Load(d, column + j * stride));
      m1 = hn::Max(m1, hn::Load(d, column + (j + 1) * stride));
    }
    if (j < keys) m0 = hn::Max(m0, hn::Load(d, column + j * stride));
    const auto top = hn::Max(m0, m1);
    // A row that has seen nothing keeps -inf; its reference is 0, so that -inf scores weigh 0.
    const auto reference = hn::IfThenElse(hn::Eq(top, hn::Set(d, kLowest<T>)), zero, top);
    const auto scale = exp(d, hn::Sub(before, reference));
    auto s0 = zero, s1 = zero;
    const auto weigh = [&](std::int64_t key) HWY_ATTR {
      T* const at = column + key * stride;
      const auto p = exp(d, hn::Sub(hn::Load(d, at), reference));
      hn::Store(p, d, at);
      return p;
    };
    for (j = 0; j + 2 <= keys; j += 2) {
      s0 = hn::Add(s0, weigh(j));
      s1 = hn::Add(s1, weigh(j + 1));
    }
    if (j < keys) s0 = hn::Add(s0, weigh(j));
    hn::Store(top, d, maximum + lane);
    hn::Store(scale, d, factor + lane);
    add_to_sum(hn::Add(s0, s1), scale, lane);
  }

  /// sum + sum_low = (sum + sum_low) * scale + weights: what T would lose of a long row's sum stays
  /// in sum_low (Knuth's two-sum), so that recomputed rows sum to 1 at any length.
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

/// What the end of a row's softmax gives.
struct RowEnd {
  LogSum lse;
  double factor = 1;  // of its output
};

/// A row that saw no key has the log-sum-exp of the sink (-inf without one) and an output of 0. One
/// that saw only scores of -inf and has no sink is NaN, as IEEE gives. The sink is one more term in
/// the sum, which has no value beside it.
inline RowEnd end_of_row(double maximum, double sum, bool seen, double sink) {
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
  return {{maximum, std::log(sum)}, 1 / sum};
}

/// 1 / (1 + e^-z).
template <typename T>
HWY_INLINE Vec<T> sigmoid(Vec<T> z) {
  const Tag<T> d;
  const auto one = hn::Set(d, T{1});
  // e^88 is near the end of f32, and the sigmoid of -88 near its beginning.
  constexpr T kMost = std::is_same_v<T, float> ? T(88) : T(709);
  const auto limited = hn::Min(hn::Set(d, kMost), hn::Neg(z));
  const auto power = exp(d, hn::IfThenElse(hn::IsNaN(z), z, limited));
  return hn::Div(one, hn::Add(one, power));
}

/// Scores to the weights of a normaliser without a sum.
template <typename T>
void weigh_alone(Normaliser normaliser, const Patch<T>& patch) {
  if (normaliser != Normaliser::kSigmoid) return;
  for_vectors(patch, [](Vec<T> z, std::int64_t, int) HWY_ATTR { return sigmoid<T>(z); });
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
