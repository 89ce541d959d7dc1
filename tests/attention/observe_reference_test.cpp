// After the reference, which computes in double, weights are recomputed in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "heed/observe.h"
#include "support/compare.h"
#include "support/random_tensor.h"

namespace heed::observe_reference_test {
namespace {

constexpr std::int64_t kRows = 70;
constexpr std::int64_t kKeys = 90;

struct Large {
  explicit Large(double factor, DType dtype = DType::kF32)
      : q(test::random_tensor({1, 1, kRows, 64}, 1)),
        k(test::random_tensor({1, 1, kKeys, 64}, 2, dtype)),
        v(test::random_tensor({1, 1, kKeys, 8}, 3, dtype)) {
    for (std::int64_t e = 0; e < q.element_count(); ++e)
      q.data<float>()[e] *= static_cast<float>(factor);
    q = Tensor::converted(q, dtype);
    args.q = q;
    args.keys = {.k = k, .v = v};
    args.kernel = "reference";
  }

  Tensor weights() const {
    SelectionObserver observer;
    Observer* const observers[] = {&observer};
    observe(args, attention(args), observers);
    return std::move(observer.values);
  }

  Tensor q, k, v;
  AttentionArgs args;
};

double off_by(const Tensor& weights) {
  double most = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const float* row = weights.data<float>() + i * kKeys;
    const double off = std::abs(std::accumulate(row, row + kKeys, 0.0) - 1);
    if (std::isnan(off)) return off;
    most = std::max(most, off);
  }
  return most;
}

// Up to one rounding to f32, and what the log-sum-exp lost as a sum of two f32.
void expect_close(const Tensor& found, const Tensor& wanted) {
  EXPECT_LE(test::distance(found, wanted), 2e-7);
}

TEST(ObserveReference, RowsSumToOneAtAnyScoreLevel) {
  for (const double factor : {1.0, 100.0, 1e3, 1e6, 1e8})
    for (const DType dtype : {DType::kF32, DType::kBF16})
      EXPECT_LE(off_by(Large(factor, dtype).weights()), 2e-6) << factor;
}

TEST(ObserveReference, WeightsAreThoseOfTheSameNumbersInF64) {
  Large large(100);
  const Tensor found = large.weights();
  const Tensor q = Tensor::converted(large.q, DType::kF64);
  large.args.q = q;
  expect_close(found, large.weights());
}

TEST(ObserveReference, TheSinkIsInTheSum) {
  Large large(100);
  const Tensor sink = Tensor::zeros({1});
  large.args.scores.sink = sink;
  SinkObserver share;
  SelectionObserver weights;
  Observer* const observers[] = {&share, &weights};
  observe(large.args, attention(large.args), observers);
  for (std::int64_t i = 0; i < kRows; ++i) {
    const float* row = weights.values.data<float>() + i * kKeys;
    EXPECT_NEAR(std::accumulate(row, row + kKeys, 0.0) + share.share.data<float>()[i], 1, 2e-6);
  }
}

TEST(ObserveReference, GradientsAreThoseOfTheSameNumbersInF64) {
  Large large(100);
  const Tensor bias = test::random_tensor({kRows, kKeys}, 4);
  large.args.scores.bias = bias;
  const Tensor dentropy = test::random_tensor({1, 1, kRows}, 5);
  const Tensor dreceived = test::random_tensor({1, 1, kKeys}, 6);
  const AttentionGradRequest request = {.dbias = true, .dscale = true};
  const AttentionGrads found = observe_backward(
      large.args, attention(large.args), {.dentropy = dentropy, .dreceived = dreceived}, request);
  const Tensor q = Tensor::converted(large.q, DType::kF64);
  large.args.q = q;
  const Tensor wide_entropy = Tensor::converted(dentropy, DType::kF64);
  const Tensor wide_received = Tensor::converted(dreceived, DType::kF64);
  const AttentionGrads wanted =
      observe_backward(large.args, attention(large.args),
                       {.dentropy = wide_entropy, .dreceived = wide_received}, request);
  expect_close(found.dq, wanted.dq);
  expect_close(found.dk, wanted.dk);
  expect_close(found.dbias, wanted.dbias);
  expect_close(found.dscale, wanted.dscale);
}

}  // namespace
}  // namespace heed::observe_reference_test
