// Every gradient of the reference by finite differences in double, for everything that scores can
// be. tests/cases/attention_cases_test.cpp holds the other kernels to the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/attention_cases.h"
#include "heed/masks/band.h"
#include "heed/ops/attention.h"
#include "support/random_tensor.h"
#include "support/score_gradients.h"

namespace heed {
namespace {

using test::random_tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sizes small enough for every element to be tried.
class Gradients : public test::ScoreGradients {
 protected:
  // B 2, H 4 over 2, Tq 4, Tk 5, D 3, Dv 2; ragged, banded; row 0 of the second batch sees nobody.
  Tensor q = random_tensor({2, 4, 4, 3}, 1, DType::kF64);
  Tensor k = random_tensor({2, 2, 5, 3}, 2, DType::kF64);
  Tensor v = random_tensor({2, 2, 5, 2}, 3, DType::kF64);
  Tensor dout = random_tensor({2, 4, 4, 2}, 4, DType::kF64);
  Tensor dlse = random_tensor({2, 4, 4}, 5, DType::kF64);

  Gradients() : ScoreGradients(200) {
    args = {.q = q,
            .keys = {k, v},
            .extents = {.query_length = {4, 3}, .key_begin = {0, 1}, .q_offset = {1, -1}},
            .mask = band({.left = 2, .right = 0}),
            .kernel = "reference"};
  }

  // sum(out dout) + sum(lse dlse), over the rows that have an lse.
  double objective() const override {
    const Attended found = attention(args);
    double sum = test::weighted_sum(found.out, dout);
    for (std::int64_t i = 0; found.lse.given() && i < found.lse.element_count(); ++i)
      if (std::isfinite(found.lse.data<double>()[i]))
        sum += found.lse.data<double>()[i] * dlse.data<double>()[i];
    return sum;
  }
};

TEST_P(Gradients, AreTheSlopesOfTheObjective) {
  AttentionGradRequest wanted = request();
  if (args.scores.normaliser == Normaliser::kSoftmax) wanted.dlse = dlse;
  const AttentionGrads grads = attention_backward(args, attention(args), dout, wanted);
  expect(q, grads.dq);
  expect(k, grads.dk);
  expect(v, grads.dv);
  expect_of_scores(grads);
}

const test::ScoreKind kMoreKinds[] = {
    {.name = "BiasOfRowsAndKeys", .bias = {4, 5}},
    {.name = "BiasOfHeads", .bias = {4, 1, 1}},
    {.name = "BiasOfRows", .bias = {4, 4, 1}},
    {.name = "BiasOfAll", .bias = {1}},
    {.name = "Dropout", .sink = true, .dropout = 0.4},
    {.name = "DropoutOfSigmoid",
     .scores = {.normaliser = Normaliser::kSigmoid},
     .alibi = true,
     .dropout = 0.4},
    {.name = "DropoutOfAll",
     .scores = {.scale = {1, 2, 3, 0.5}, .similarity = Similarity::kCosine, .softcap = 2},
     .bias = {4, 4, 5},
     .alibi = true,
     .sink = true,
     .dropout = 0.3},
};

INSTANTIATE_TEST_SUITE_P(Kinds, Gradients, testing::ValuesIn(test::gradient_kinds(4, 5)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(MoreKinds, Gradients, testing::ValuesIn(kMoreKinds),
                         testing::PrintToStringParamName());

TEST(Gradient, OfABiasOfMinusInfinityIsZero) {
  const Tensor x = random_tensor({1, 1, 3, 4}, 1, DType::kF64);
  Tensor bias = Tensor::zeros({3, 3}, DType::kF64);
  bias.data<double>()[4] = -kInfinity;
  const AttentionArgs args = {.q = x, .keys = {x, x}, .scores = {.bias = bias}};
  for (const char* kernel : {"tiled", "reference"}) {
    AttentionArgs each = args;
    each.kernel = kernel;
    const AttentionGrads grads = attention_backward(each, attention(each), x, {.dbias = true});
    for (int e = 0; e < 9; ++e)
      EXPECT_EQ(grads.dbias.data<double>()[e] == 0, e == 4) << kernel << " " << e;
  }
}

TEST(Gradient, OfTheCosineOfNothingAndOfADistanceOfNothingIsZero) {
  const Tensor zero = Tensor::zeros({1, 1, 2, 4});
  const Tensor one = random_tensor({1, 1, 2, 4}, 1);
  for (const char* kernel : {"tiled", "reference"}) {
    AttentionArgs args = {.q = zero, .keys = {one, one}, .kernel = kernel};
    args.scores.similarity = Similarity::kCosine;
    const AttentionGrads cosine = attention_backward(args, attention(args), one);
    for (int e = 0; e < 8; ++e) EXPECT_EQ(cosine.dq.data<float>()[e], 0) << kernel;
    args.keys = {zero, one};
    args.scores.similarity = Similarity::kAbsolute;
    const AttentionGrads absolute = attention_backward(args, attention(args), one);
    for (int e = 0; e < 8; ++e) EXPECT_EQ(absolute.dk.data<float>()[e], 0) << kernel;
  }
}

// Each alone has the bits that it has beside all others.
TEST(Gradient, AnySubsetMayBeAskedFor) {
  const AttentionCase problem = {
      .batch = 2,
      .heads = 4,
      .kv_heads = 2,
      .query_length = 70,
      .key_length = 80,
      .head_dim = 8,
      .value_dim = 8,
      .scores = {.softcap = 3, .bias = {70, 80}, .alibi = true, .sink = true, .dropout = 0.2}};
  const AttentionInputs inputs(problem);
  const Attended attended = attention(inputs.args);
  const AttentionGrads all =
      attention_backward(inputs.args, attended, inputs.dout, inputs.request());
  const auto only = [&](AttentionGradRequest request) {
    request.dlse = inputs.dlse;
    return attention_backward(inputs.args, attended, inputs.dout, request);
  };
  const AttentionGradRequest none = {.dq = false, .dk = false, .dv = false};
  const auto with = [&](bool AttentionGradRequest::* one) {
    AttentionGradRequest request = none;
    request.*one = true;
    return only(request);
  };
  const auto same = [](const Tensor& a, const Tensor& b) { return test::same_bits(a, b); };
  EXPECT_TRUE(same(with(&AttentionGradRequest::dq).dq, all.dq));
  EXPECT_TRUE(same(with(&AttentionGradRequest::dk).dk, all.dk));
  EXPECT_TRUE(same(with(&AttentionGradRequest::dv).dv, all.dv));
  EXPECT_TRUE(same(with(&AttentionGradRequest::dbias).dbias, all.dbias));
  EXPECT_TRUE(same(with(&AttentionGradRequest::dsink).dsink, all.dsink));
  EXPECT_TRUE(same(with(&AttentionGradRequest::dslope).dslope, all.dslope));
  EXPECT_TRUE(same(with(&AttentionGradRequest::dscale).dscale, all.dscale));
  EXPECT_FALSE(only(none).dq.given());
}

}  // namespace
}  // namespace heed
