// The sweep's gradients of entropy and received weight by finite differences in double, for every
// form of score.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/mask.h"
#include "heed/observe.h"
#include "heed/threads.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "support/score_gradients.h"

namespace heed::observe_backward_test {
namespace {

using test::random_tensor;
using test::same_bits;

constexpr std::int64_t kQueries = 70;  // more than a tile of each
constexpr std::int64_t kKeys = 67;

class ObservedGradients : public test::ScoreGradients {
 protected:
  // Ragged, banded, grouped; row 0 of the second batch sees no key.
  Tensor q = random_tensor({2, 4, kQueries, 3}, 1, DType::kF64);
  Tensor k = random_tensor({2, 2, kKeys, 3}, 2, DType::kF64);
  Tensor v = Tensor::zeros({2, 2, kKeys, kKeys}, DType::kF64);  // identity: out is the weights
  Tensor dentropy = random_tensor({2, 4, kQueries}, 4, DType::kF64);
  Tensor dreceived = random_tensor({2, 4, kKeys}, 5, DType::kF64);

  ObservedGradients() : ScoreGradients(25) {
    args = {.q = q,
            .keys = {k, v},
            .extents = {.query_length = {kQueries, 66}, .key_begin = {0, 1}, .q_offset = {1, -1}},
            .mask = Mask::band({.left = 30, .right = 0})};
    for (std::int64_t head = 0; head < 4; ++head)
      for (std::int64_t j = head < 2 ? 0 : 1; j < kKeys; ++j)  // logical keys
        v.data<double>()[(head * kKeys + j) * kKeys + j - (head < 2 ? 0 : 1)] = 1;
  }

  bool has_entropy() const { return args.scores.normaliser != Normaliser::kNone; }

  static double spread(double p) { return p > 0 ? -p * std::log(p) : 0; }

  // sum(dentropy H) + sum(dreceived R), from the weights themselves.
  double objective() const override {
    const Tensor weights = attention(args).out;
    double sum = 0;
    for (std::int64_t row = 0; row < 8 * kQueries; ++row) {
      const double* p = weights.data<double>() + row * kKeys;
      double entropy = 0;
      double total = 0;
      for (std::int64_t j = 0; j < kKeys; ++j) {
        entropy += spread(p[j]);
        total += p[j];
        sum += dreceived.data<double>()[row / kQueries * kKeys + j] * p[j];
      }
      if (GetParam().sink && row % kQueries < (row < 4 * kQueries ? kQueries : 66))
        entropy += spread(1 - total);
      if (has_entropy()) sum += dentropy.data<double>()[row] * entropy;
    }
    return sum;
  }
};

TEST_P(ObservedGradients, AreTheSlopesOfTheObjective) {
  const AttentionGrads grads =
      observe_backward(args, attention(args),
                       {has_entropy() ? ConstView(dentropy) : ConstView(), dreceived}, request());
  expect(q, grads.dq);
  expect(k, grads.dk);
  expect_of_scores(grads);
  EXPECT_EQ(test::distance(grads.dv, Tensor::zeros(v.shape(), DType::kF64)), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ObservedGradients,
                         testing::ValuesIn(test::gradient_kinds(kQueries, kKeys)),
                         testing::PrintToStringParamName());

// A plain problem in f32, causal, of more than one tile.
struct Plain {
  Tensor x = random_tensor({1, 2, 150, 8}, 1);
  Tensor dentropy = random_tensor({1, 2, 150}, 2);
  Tensor dreceived = random_tensor({1, 2, 150}, 3);
  AttentionArgs args = {.q = x, .keys = {x, x}, .mask = Mask::causal()};
};

TEST(ObserveBackward, DoesNotDependOnThreads) {
  const Plain plain;
  const Attended attended = attention(plain.args);
  const auto gradients = [&](int threads) {
    set_thread_count(threads);
    AttentionGrads grads =
        observe_backward(plain.args, attended, {plain.dentropy, plain.dreceived});
    set_thread_count(0);
    return grads;
  };
  const AttentionGrads one = gradients(1);
  for (const int threads : {2, 3, 4, 7}) {
    const AttentionGrads many = gradients(threads);
    EXPECT_TRUE(same_bits(one.dq, many.dq)) << threads;
    EXPECT_TRUE(same_bits(one.dk, many.dk)) << threads;
  }
}

TEST(ObserveBackward, IsOfTheWeightsBeforeDropout) {
  Plain plain;
  const Attended attended = attention(plain.args);
  const AttentionGrads without =
      observe_backward(plain.args, attended, {plain.dentropy, plain.dreceived});
  plain.args.dropout = Dropout{.rate = 0.5, .seed = 1};
  const AttentionGrads with =
      observe_backward(plain.args, attended, {plain.dentropy, plain.dreceived});
  EXPECT_TRUE(same_bits(with.dq, without.dq));
}

TEST(ObserveBackward, OfWhatIsMaskedIsZeroWhateverItHolds) {
  Plain plain;
  Tensor k = Tensor::copy_of(plain.x.view());
  plain.args.keys.k = k;
  plain.args.extents.q_offset = {-1};  // no query sees the last key
  const auto gradients = [&] {
    return observe_backward(plain.args, attention(plain.args), {plain.dentropy, plain.dreceived});
  };
  const AttentionGrads clean = gradients();
  for (int d = 0; d < 8; ++d)
    k.data<float>()[149 * 8 + d] = std::numeric_limits<float>::quiet_NaN();
  const AttentionGrads poisoned = gradients();
  EXPECT_TRUE(same_bits(clean.dq, poisoned.dq));
  EXPECT_TRUE(same_bits(clean.dk, poisoned.dk));
}

TEST(ObserveBackward, SaysWhatDoesNotFit) {
  Plain plain;
  const Attended attended = attention(plain.args);
  const auto code = ErrorCode::kInvalidArgument;
  const Tensor wrong = Tensor::zeros({1, 2, 149});
  EXPECT_HEED_ERROR(
      observe_backward(plain.args, attended, {.dentropy = wrong}), code,
      "observe_backward: dentropy.shape is [1, 2, 149], expected [B, H, Tq] = [1, 2, 150]");
  EXPECT_HEED_ERROR(observe_backward(plain.args, attended, {}, {.dlse = attended.lse}), code,
                    "observe_backward: dlse is given, expected none (attention_backward takes it)");
  EXPECT_HEED_ERROR(observe_backward(plain.args, attended, {}, {.dsink = true}), code,
                    "observe_backward: dsink needs scores.sink, which is not given");
  plain.args.scores.normaliser = Normaliser::kNone;
  EXPECT_HEED_ERROR(observe_backward(plain.args, attention(plain.args), {plain.dentropy, {}}), code,
                    "observe_backward: dentropy is given, expected none (the normaliser is none, "
                    "so that weights are not probabilities)");
}

}  // namespace
}  // namespace heed::observe_backward_test
