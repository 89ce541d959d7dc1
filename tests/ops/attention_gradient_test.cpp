// Every gradient of the reference by finite differences in double, for everything that scores can
// be. tests/cases/attention_cases_test.cpp holds the other kernels to the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "heed/cases/attention_cases.h"
#include "heed/masks/band.h"
#include "heed/ops/attention.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::expect_gradient;
using test::random_tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What varies between the problems; sizes are small enough for every element to be tried.
struct Kind {
  const char* name;
  Scores scores = {};
  Shape bias = {0};
  bool alibi = false;
  bool sink = false;
  double dropout = 0;
};

class Gradients : public testing::TestWithParam<Kind> {
 protected:
  // B 2, H 4 over 2, Tq 4, Tk 5, D 3, Dv 2; ragged, banded; row 0 of the second batch sees nobody.
  Tensor q = random_tensor({2, 4, 4, 3}, 1, DType::kF64);
  Tensor k = random_tensor({2, 2, 5, 3}, 2, DType::kF64);
  Tensor v = random_tensor({2, 2, 5, 2}, 3, DType::kF64);
  Tensor dout = random_tensor({2, 4, 4, 2}, 4, DType::kF64);
  Tensor dlse = random_tensor({2, 4, 4}, 5, DType::kF64);
  Tensor bias, slopes, sinks;
  AttentionArgs args = {
      .q = q,
      .keys = {k, v},
      .extents = {.query_length = {4, 3}, .key_begin = {0, 1}, .q_offset = {1, -1}},
      .mask = band({.left = 2, .right = 0}),
      .kernel = "reference"};

  void SetUp() override {
    const Kind& kind = GetParam();
    args.scores = kind.scores;
    if (args.scores.scale.empty()) args.scores.scale = {0.7};
    if (!(kind.bias == Shape{0})) {
      bias = random_tensor(kind.bias, 6, DType::kF64);
      args.scores.bias = bias;
    }
    slopes = random_tensor({4}, 7, DType::kF64);
    sinks = random_tensor({4}, 8, DType::kF64);
    if (kind.alibi) args.scores.alibi = slopes;
    if (kind.sink) args.scores.sink = sinks;
    if (kind.dropout != 0) args.dropout = Dropout{.rate = kind.dropout, .seed = 11};
  }

  // sum(out dout) + sum(lse dlse), over the rows that have an lse.
  double objective() const {
    const Attended found = attention(args);
    double sum = test::weighted_sum(found.out, dout);
    for (std::int64_t i = 0; found.lse.given() && i < found.lse.element_count(); ++i)
      if (std::isfinite(found.lse.data<double>()[i]))
        sum += found.lse.data<double>()[i] * dlse.data<double>()[i];
    return sum;
  }

  void expect(const View& input, const ConstView& gradient) const {
    expect_gradient(input, gradient, [&] { return objective(); }, 1e-6, 200);
  }
};

TEST_P(Gradients, AreTheSlopesOfTheObjective) {
  const bool softmax = args.scores.normaliser == Normaliser::kSoftmax;
  const AttentionGrads grads =
      attention_backward(args, attention(args), dout,
                         {.dbias = bias.given(),
                          .dsink = GetParam().sink,
                          .dslope = GetParam().alibi,
                          .dscale = true,
                          .dlse = softmax ? ConstView(dlse) : ConstView()});
  expect(q, grads.dq);
  expect(k, grads.dk);
  expect(v, grads.dv);
  if (bias.given()) expect(bias, grads.dbias);
  if (GetParam().sink) expect(sinks, grads.dsink);
  if (GetParam().alibi) expect(slopes, grads.dslope);
  std::vector<double>& scale = args.scores.scale;
  expect(View(scale.data(), DType::kF64, Shape{std::ssize(scale)}), grads.dscale);
}

const Kind kKinds[] = {
    {.name = "Dot"},
    {.name = "ScaleOfEachHead", .scores = {.scale = {0.5, 0, -1, 2}}},
    {.name = "Cosine", .scores = {.similarity = Similarity::kCosine}},
    {.name = "Gaussian", .scores = {.similarity = Similarity::kGaussian}},
    {.name = "Absolute", .scores = {.similarity = Similarity::kAbsolute}},
    {.name = "Softcap", .scores = {.softcap = 1.5}},
    {.name = "BiasOfEachPair", .bias = {2, 4, 4, 5}},
    {.name = "BiasOfRowsAndKeys", .bias = {4, 5}},
    {.name = "BiasOfHeads", .bias = {4, 1, 1}},
    {.name = "BiasOfKeys", .bias = {2, 1, 1, 5}},
    {.name = "BiasOfRows", .bias = {4, 4, 1}},
    {.name = "BiasOfAll", .bias = {1}},
    {.name = "Alibi", .alibi = true},
    {.name = "Sink", .sink = true},
    {.name = "Sigmoid", .scores = {.normaliser = Normaliser::kSigmoid}, .bias = {5}},
    {.name = "None", .scores = {.softcap = 2, .normaliser = Normaliser::kNone}},
    {.name = "Dropout", .sink = true, .dropout = 0.4},
    {.name = "DropoutOfSigmoid",
     .scores = {.normaliser = Normaliser::kSigmoid},
     .alibi = true,
     .dropout = 0.4},
    {.name = "All",
     .scores = {.scale = {1, 2, 3, 0.5}, .similarity = Similarity::kCosine, .softcap = 2},
     .bias = {4, 4, 5},
     .alibi = true,
     .sink = true,
     .dropout = 0.3},
};

INSTANTIATE_TEST_SUITE_P(Kinds, Gradients, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

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
