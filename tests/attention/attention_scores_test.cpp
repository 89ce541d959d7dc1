// Forms of scores and weights, one fact per test, for every kernel that supports them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "support/every_kernel.h"
#include "support/random_tensor.h"

namespace heed::attention_scores_test {
namespace {

using test::for_every_kernel;
using test::random_tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor made(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = Tensor::empty(shape);
  std::ranges::copy(values, tensor.data<float>());
  return tensor;
}

// One query (3, 4) against the keys (1, 0) and (6, 8), whose values are 1 and 2. With the
// normaliser `none` and values that pick one key each, out is the scores themselves.
class TwoKeys : public testing::Test {
 protected:
  Tensor q = made({1, 1, 1, 2}, {3, 4});
  Tensor k = made({1, 1, 2, 2}, {1, 0, 6, 8});
  Tensor pick = made({1, 1, 2, 2}, {1, 0, 0, 1});
  AttentionArgs args = {.q = q, .keys = {k, pick}, .scores = {.normaliser = Normaliser::kNone}};

  void expect_scores(double first, double second) const {
    for_every_kernel(args, [&](const AttentionArgs& each) {
      const Attended found = attention(each);
      EXPECT_NEAR(found.out.data<float>()[0], first, 1e-5);
      EXPECT_NEAR(found.out.data<float>()[1], second, 1e-5);
      EXPECT_FALSE(found.lse.given());
    });
  }
};

TEST_F(TwoKeys, DotIsScaledByTheRootOfTheHeadSize) {
  expect_scores(3 / std::sqrt(2), 50 / std::sqrt(2));
}

TEST_F(TwoKeys, CosineIsTheDotOfDirections) {
  args.scores.similarity = Similarity::kCosine;
  expect_scores(0.6, 1);
}

TEST_F(TwoKeys, CosineOfNothingIsZero) {
  args.scores.similarity = Similarity::kCosine;
  std::fill_n(k.data<float>(), 2, 0.0F);
  expect_scores(0, 1);
}

TEST_F(TwoKeys, GaussianIsMinusTheSquaredDistance) {
  args.scores.similarity = Similarity::kGaussian;
  expect_scores(-20, -25);
}

TEST_F(TwoKeys, AbsoluteIsMinusTheSumOfDistances) {
  args.scores.similarity = Similarity::kAbsolute;
  expect_scores(-6, -7);
}

TEST_F(TwoKeys, SoftcapBendsLargeScores) {
  args.scores.scale = {1};
  args.scores.softcap = 10;
  expect_scores(10 * std::tanh(0.3), 10 * std::tanh(5.0));
}

TEST_F(TwoKeys, BiasComesAfterTheSoftcap) {
  const Tensor bias = made({2}, {0.5, -100});
  args.scores = {.scale = {1}, .softcap = 10, .bias = bias, .normaliser = Normaliser::kNone};
  expect_scores(10 * std::tanh(0.3) + 0.5, 10 * std::tanh(5.0) - 100);
}

TEST_F(TwoKeys, AlibiFallsWithTheDistance) {
  const Tensor slopes = made({1}, {0.25});
  args.scores.alibi = slopes;
  args.scores.scale = {1};
  args.extents = {.q_offset = {5}, .key_offset = {7}};
  expect_scores(3 - 0.25 * 2, 50 - 0.25 * 3);
}

// Scores of 3 times distances that f32 cannot represent: 2^24 + 1 and 2^24.
TEST_F(TwoKeys, AlibisDistancesAreExactBeyondF32) {
  const Tensor slopes = made({1}, {3});
  std::fill_n(q.data<float>(), 2, 0.0F);
  args.scores.alibi = slopes;
  args.extents = {.q_offset = {(1 << 24) + 1}, .key_offset = {0}};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    EXPECT_EQ(found.out.data<float>()[0], -50331652.0F);  // 50331651 rounded
    EXPECT_EQ(found.out.data<float>()[1], -50331648.0F);
  });
}

TEST_F(TwoKeys, SigmoidWeighsEachKeyAlone) {
  args.scores = {.scale = {0.1}, .normaliser = Normaliser::kSigmoid};
  expect_scores(1 / (1 + std::exp(-0.3)), 1 / (1 + std::exp(-5)));
}

TEST_F(TwoKeys, ABiasOfMinusInfinityHidesEvenNotANumber) {
  const Tensor bias = made({2}, {0, -kInfinity});
  args.scores = {.scale = {1}, .bias = bias};
  std::fill_n(k.data<float>() + 2, 2, NAN);
  std::fill_n(pick.data<float>() + 2, 2, NAN);
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    EXPECT_EQ(found.out.data<float>()[0], 1);
    EXPECT_NEAR(found.lse.data<float>()[0], 3, 1e-6);
  });
}

TEST_F(TwoKeys, ARowWhoseBiasHidesAllIsEmpty) {
  const Tensor bias = made({1}, {-kInfinity});
  args.scores = {.bias = bias};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    EXPECT_EQ(found.out.data<float>()[0], 0);
    EXPECT_EQ(found.lse.data<float>()[0], -kInfinity);
  });
}

TEST_F(TwoKeys, ASinkTakesItsShareAndGivesNothing) {
  const Tensor sink = made({1}, {4});
  args.scores = {.scale = {0.1}, .sink = sink};
  const double total = std::exp(0.3) + std::exp(5) + std::exp(4);
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    EXPECT_NEAR(found.out.data<float>()[0], std::exp(0.3) / total, 1e-6);
    EXPECT_NEAR(found.out.data<float>()[1], std::exp(5) / total, 1e-6);
    EXPECT_NEAR(found.lse.data<float>()[0], std::log(total), 1e-6);
  });
}

TEST_F(TwoKeys, AnEmptyRowHasTheSinksLseWhoseGradientItReceives) {
  const Tensor sink = made({1}, {4});
  const Tensor dlse = made({1, 1, 1}, {3});
  const Tensor dout = made({1, 1, 1, 2}, {NAN, 1});
  args.scores = {.sink = sink};
  args.mask = Mask::band({.left = 0, .right = 0});
  args.extents.q_offset = {-9};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    EXPECT_EQ(found.out.data<float>()[0], 0);
    EXPECT_EQ(found.lse.data<float>()[0], 4);
    const AttentionGrads grads =
        attention_backward(each, found, dout, {.dsink = true, .dlse = dlse});
    EXPECT_EQ(grads.dsink.data<float>()[0], 3);
    EXPECT_EQ(grads.dq.data<float>()[0], 0);
  });
}

TEST_F(TwoKeys, ScalesMayDifferByHead) {
  const Tensor q2 = made({1, 2, 1, 2}, {3, 4, 3, 4});
  args.q = q2;
  args.scores.scale = {1, 0.1};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    EXPECT_NEAR(found.out.data<float>()[0], 3, 1e-5);
    EXPECT_NEAR(found.out.data<float>()[2], 0.3, 1e-5);
  });
}

// In f32 |q|^2 - 2 q k + |k|^2 would lose all digits here.
TEST(Gaussian, OfNearbyLargeVectorsIsAsExactAsTheirDifference) {
  const Tensor q = made({1, 1, 1, 1}, {10000});
  const Tensor k = made({1, 1, 1, 1}, {10000.5});
  const Tensor v = made({1, 1, 1, 1}, {1});
  const AttentionArgs args = {
      .q = q,
      .keys = {k, v},
      .scores = {.similarity = Similarity::kGaussian, .normaliser = Normaliser::kNone}};
  for_every_kernel(args, [](const AttentionArgs& each) {
    EXPECT_EQ(attention(each).out.data<float>()[0], -0.25F);
  });
}

// Which of 4 queries x 6 keys at rate 0.5, seed 2^32 + 5, offset 9, batch 0, head 1 of 2 are kept:
// from the definition, with an independent implementation of Philox.
TEST(Dropout, KeepsTheKnownPairs) {
  const Tensor q = Tensor::zeros({1, 2, 4, 1});
  const Tensor k = Tensor::zeros({1, 2, 6, 1});
  Tensor v = Tensor::zeros({1, 2, 6, 6});
  for (int h = 0; h < 2; ++h)
    for (int j = 0; j < 6; ++j) v.data<float>()[(h * 6 + j) * 6 + j] = 1;  // picks key j
  const AttentionArgs args = {.q = q,
                              .keys = {k, v},
                              .scores = {.normaliser = Normaliser::kSigmoid},
                              .dropout = Dropout{.rate = 0.5, .seed = 0x100000005, .offset = 9}};
  const char* expected[] = {"110010", "000001", "010111", "111101"};
  for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended found = attention(each);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 6; ++j)  // a kept weight of 1/2 becomes 1
        EXPECT_EQ(found.out.data<float>()[(4 + i) * 6 + j], expected[i][j] == '1' ? 1.0F : 0.0F)
            << i << " " << j;
  });
}

TEST(Dropout, OfAShardIsThatOfTheWhole) {
  const Tensor q = random_tensor({1, 2, 70, 8}, 1);
  const Tensor k = random_tensor({1, 2, 90, 8}, 2);
  const Tensor v = random_tensor({1, 2, 90, 8}, 3);
  AttentionArgs whole = {.q = q,
                         .keys = {k, v},
                         .scores = {.normaliser = Normaliser::kSigmoid},
                         .dropout = Dropout{.rate = 0.4, .seed = 3}};
  for_every_kernel(whole, [&](const AttentionArgs& each) {
    const Tensor out = attention(each).out;
    Tensor sum = Tensor::zeros(out.shape());
    for (const auto& [begin, end] : {std::pair(0, 37), {37, 90}}) {
      AttentionArgs shard = each;
      shard.keys = {k.view().slice(2, begin, end), v.view().slice(2, begin, end)};
      shard.extents = {.q_offset = {20}, .key_offset = {begin}};
      const Tensor part = attention(shard).out;
      for (std::int64_t i = 0; i < sum.element_count(); ++i)
        sum.data<float>()[i] += part.data<float>()[i];
    }
    EXPECT_LE(test::largest_difference(sum, out), 1e-4);
  });
}

TEST(Dropout, LeavesLseAndObservedWeightsAsTheyAre) {
  const Tensor x = random_tensor({1, 2, 70, 8}, 1);
  AttentionArgs args = {.q = x, .keys = {x, x}};
  const Attended plain = attention(args);
  SelectionObserver before;
  Observer* const watch_before[] = {&before};
  observe(args, plain, watch_before);
  args.dropout = Dropout{.rate = 0.5, .seed = 1};
  const Attended dropped = attention(args);
  SelectionObserver after;
  Observer* const watch_after[] = {&after};
  observe(args, dropped, watch_after);
  EXPECT_LE(test::largest_difference(plain.lse, dropped.lse), 1e-6);
  EXPECT_LE(test::largest_difference(before.values, after.values), 1e-6);
}

TEST(Observed, WeightsAreThoseAfterAllThatScoresAre) {
  const Tensor q = random_tensor({2, 2, 70, 8}, 1);
  const Tensor kv = random_tensor({2, 2, 80, 8}, 2);
  const Tensor bias = random_tensor({70, 80}, 3);
  const Tensor two = random_tensor({2}, 4);
  Tensor one_hot = Tensor::zeros({2, 2, 80, 80});
  for (std::int64_t row = 0; row < 4 * 80; ++row)
    one_hot.data<float>()[row * 80 + row % 80] = 1;  // out is the weights
  for (const Normaliser normaliser :
       {Normaliser::kSoftmax, Normaliser::kSigmoid, Normaliser::kNone}) {
    AttentionArgs args = {.q = q,
                          .keys = {kv, one_hot},
                          .mask = Mask::causal(),
                          .scores = {.similarity = Similarity::kCosine,
                                     .softcap = 2,
                                     .bias = bias,
                                     .alibi = two,
                                     .normaliser = normaliser}};
    if (normaliser == Normaliser::kSoftmax) args.scores.sink = two;
    const Attended attended = attention(args);
    SelectionObserver weights;
    Observer* const observers[] = {&weights};
    observe(args, attended, observers);
    EXPECT_LE(test::largest_difference(weights.values, attended.out), 1e-5);
  }
}

TEST(Dropout, ARateOfOneLeavesNothingOfOutNorOfItsGradients) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const Tensor q = test::random_tensor({2, 2, 5, 8}, 1, dtype);
    const Tensor v = test::random_tensor({2, 2, 5, 3}, 2, dtype);
    const Tensor dout = test::random_tensor({2, 2, 5, 3}, 3, dtype);
    const AttentionArgs all = {
        .q = q, .keys = {q, v}, .mask = Mask::causal(), .dropout = Dropout{.rate = 1, .seed = 7}};
    test::for_every_kernel(all, [&](const AttentionArgs& args) {
      const Attended attended = attention(args);
      const AttentionGrads grads = attention_backward(args, attended, dout);
      for (const Tensor* zero : {&attended.out, &grads.dq, &grads.dk, &grads.dv})
        EXPECT_EQ(test::largest_difference(*zero, Tensor::zeros(zero->shape(), dtype)), 0);
    });
  }
}

}  // namespace
}  // namespace heed::attention_scores_test
