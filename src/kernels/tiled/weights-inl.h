// Scores to weights: exp2, the log-sum-exp, sigmoid. Included once for each vector width.
#if defined(HEED_TILED_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_WEIGHTS_INL_H_
#undef HEED_TILED_WEIGHTS_INL_H_
#else
#define HEED_TILED_WEIGHTS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include "kernels/sweep/exp-inl.h"
#include "kernels/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

template <typename T>
struct Exp2Constants;
template <>
struct Exp2Constants<float> {
  using Bits = std::int32_t;
  static constexpr int kMantissa = 23, kBias = 127, kDegree = 7;
  static constexpr float kRound = 0x1.8p23F;
};
template <>
struct Exp2Constants<double> {
  using Bits = std::int64_t;
  static constexpr int kMantissa = 52, kBias = 1023, kDegree = 13;
  static constexpr double kRound = 0x1.8p52;
};

// e^x = 2^(n + f) with |f| <= 1/2; e^(f ln 2) by Taylor, whose remainder is below half an ulp at
// the degree chosen; 2^n by its exponent bits. Results below the normal numbers are 0, NaN stays
// NaN. Only differences of scores come here: a score itself may be too large for its product with
// log2(e).
template <class Tag>
HWY_INLINE hn::Vec<Tag> exp(Tag tag, hn::Vec<Tag> x) {
  using T = hn::TFromD<Tag>;
  using Constants = Exp2Constants<T>;
  const hn::Rebind<typename Constants::Bits, Tag> bits_tag;
  const auto base = hn::Set(tag, static_cast<T>(kLog2E));
  const auto least = hn::Set(tag, static_cast<T>(kLn2 * (1 - Constants::kBias)));
  const auto most = hn::Set(tag, static_cast<T>(kLn2 * (1 + Constants::kBias)));
  const auto tiny = hn::Lt(x, least);
  x = hn::IfThenElse(hn::Gt(x, most), most, x);
  const auto shifted = hn::MulAdd(x, base, hn::Set(tag, Constants::kRound));  // n in the low bits
  const auto f = hn::MulSub(x, base, hn::Sub(shifted, hn::Set(tag, Constants::kRound)));
  const auto y = hn::Mul(f, hn::Set(tag, static_cast<T>(kLn2)));
  double factorial = 1;
  for (int k = 2; k <= Constants::kDegree; ++k) factorial *= k;
  auto sum = hn::Set(tag, static_cast<T>(1 / factorial));
#pragma GCC unroll 16
  for (int k = Constants::kDegree; k >= 1; --k) {
    factorial /= k;
    sum = hn::MulAdd(sum, y, hn::Set(tag, static_cast<T>(1 / factorial)));
  }
  const auto exponent =
      hn::Add(hn::BitCast(bits_tag, shifted), hn::Set(bits_tag, Constants::kBias));
  const auto power = hn::BitCast(tag, hn::ShiftLeft<Constants::kMantissa>(exponent));
  return hn::IfThenZeroElse(tiny, hn::Mul(sum, power));
}

// The log-sum-exp of 64 rows, as a sum of two T; rows that do not exist get 0.
template <typename T>
struct RowLse {
  alignas(64) T high[kRows];
  alignas(64) T low[kRows];

  void load(const T* lse, const T* lse_low, std::int64_t rows) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      high[i] = i < rows ? lse[i] : T{0};
      low[i] = i < rows && std::isfinite(lse[i]) ? lse_low[i] : T{0};
    }
  }
};

// The logarithms of weights: score - lse, whose halves are never added to each other first. At
// 10^9 their sum has lost what the low one holds.
template <class Tag, typename T>
HWY_INLINE hn::Vec<Tag> above_lse(Tag tag, const T* score, const RowLse<T>& lse, std::int64_t i) {
  return hn::Sub(hn::Sub(hn::Load(tag, score), hn::Load(tag, lse.high + i)),
                 hn::Load(tag, lse.low + i));
}

// Scores to weights.
template <typename T>
void weigh(const RowLse<T>& lse, std::int64_t keys, const T* scores, T* weights) {
  const hn::ScalableTag<T> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t i = 0; i < kRows; i += lanes)
      hn::Store(exp(tag, above_lse(tag, scores + j * kRows + i, lse, i)), tag,
                weights + j * kRows + i);
}

// e^x for x <= 0, or above 0 by rounding alone; 0 below the normal numbers.
template <class Tag>
HWY_INLINE hn::Vec<Tag> weight_of(Tag tag, hn::Vec<Tag> x) {
  if constexpr (std::is_same_v<hn::TFromD<Tag>, float>) {
    // The instruction that scales would take a hundred cycles for a denormal.
    const auto tiny = hn::Lt(x, hn::Set(tag, static_cast<float>(-126 * kLn2)));
    return cpu::HWY_NAMESPACE::exp(
        tag, hn::IfThenElse(tiny, hn::Set(tag, -std::numeric_limits<float>::infinity()), x));
  } else {
    return exp(tag, x);
  }
}

// Scores to weights and, where that is not null, their logarithms, in the first lanes.
// `weights` may be `scores`.
template <typename T>
void weigh_with_logs(const RowLse<T>& lse, std::int64_t keys, const T* scores, T* weights,
                     T* log_weights, std::int64_t end = kRows) {
  const hn::ScalableTag<T> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t i = 0; i < end; i += lanes) {
      const std::int64_t e = j * kRows + i;
      const auto above = above_lse(tag, scores + e, lse, i);
      if (log_weights != nullptr) hn::Store(above, tag, log_weights + e);
      hn::Store(weight_of(tag, above), tag, weights + e);
    }
}

// 1 / (1 + e^-z).
template <class Tag>
HWY_INLINE hn::Vec<Tag> sigmoid(Tag tag, hn::Vec<Tag> z) {
  using T = hn::TFromD<Tag>;
  const auto one = hn::Set(tag, T{1});
  return hn::Div(one, hn::Add(one, exp(tag, hn::Neg(z))));
}

// Scores to the weights of a normaliser without a sum: in place where they are the same.
template <typename T>
void weigh_alone(Normaliser normaliser, std::int64_t keys, const T* scores, T* weights) {
  const hn::ScalableTag<T> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t e = 0; e < keys * kRows; e += lanes) {
    const auto z = hn::Load(tag, scores + e);
    hn::Store(normaliser == Normaliser::kSigmoid ? sigmoid(tag, z) : z, tag, weights + e);
  }
}

// The logarithms of weights that no sum has made: of 0 minus infinity, NaN where below.
template <typename T>
void take_logs(std::int64_t keys, const T* weights, T* log_weights) {
  const hn::ScalableTag<T> tag;
  const auto none = hn::Set(tag, -std::numeric_limits<T>::infinity());
  const auto nan = hn::Set(tag, std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t e = 0; e < keys * kRows; e += static_cast<std::int64_t>(hn::Lanes(tag))) {
    const auto p = hn::Load(tag, weights + e);
    const auto log = hn::IfThenElse(hn::Gt(p, hn::Zero(tag)), hn::Log(tag, p), nan);
    hn::Store(hn::IfThenElse(hn::Eq(p, hn::Zero(tag)), none, log), tag, log_weights + e);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_WEIGHTS_INL_H_
