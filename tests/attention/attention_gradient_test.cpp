// Every gradient of the reference by finite differences in double, for every form of score.
// tests/bench/attention_cases_test.cpp compares the other kernels with the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/attention_cases.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "support/random_tensor.h"
#include "support/score_gradients.h"

namespace heed::attention_gradient_test {
namespace {

using test::random_tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sizes small enough to try every element.
class Gradients : public test::ScoreGradients {
 protected:
  // B 2, H 4 over 2, Tq 4, Tk 5, D 3, Dv 2; ragged, banded; row 0 of the second batch sees no key.
  Tensor q = random_tensor({2, 4, 4, 3}, 1, DType::kF64);
  Tensor k = random_tensor({2, 2, 5, 3}, 2, DType::kF64);
  Tensor v = random_tensor({2, 2, 5, 2}, 3, DType::kF64);
  Tensor dout = random_tensor({2, 4, 4, 2}, 4, DType::kF64);
  Tensor dlse = random_tensor({2, 4, 4}, 5, DType::kF64);

  Gradients() : ScoreGradients(200) {
    args = {.q = q,
            .keys = {k, v},
            .extents = {.query_length = {4, 3}, .key_begin = {0, 1}, .q_offset = {1, -1}},
            .mask = Mask::band({.left = 2, .right = 0}),
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
  for (const char* kernel : {"portable", "reference"}) {
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
  for (const char* kernel : {"portable", "reference"}) {
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

struct OneGradient {
  bool AttentionGradRequest::* asked;
  Tensor AttentionGrads::* tensor;
};

constexpr OneGradient kGradients[] = {{&AttentionGradRequest::dq, &AttentionGrads::dq},
                                      {&AttentionGradRequest::dk, &AttentionGrads::dk},
                                      {&AttentionGradRequest::dv, &AttentionGrads::dv},
                                      {&AttentionGradRequest::dbias, &AttentionGrads::dbias},
                                      {&AttentionGradRequest::dsink, &AttentionGrads::dsink},
                                      {&AttentionGradRequest::dslope, &AttentionGrads::dslope},
                                      {&AttentionGradRequest::dscale, &AttentionGrads::dscale}};

// Each alone has the same bits as together with all others.
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
  for (const OneGradient& one : kGradients) {
    AttentionGradRequest request = {.dq = false, .dk = false, .dv = false, .dlse = inputs.dlse};
    request.*one.asked = true;
    const AttentionGrads found = attention_backward(inputs.args, attended, inputs.dout, request);
    for (const OneGradient& other : kGradients)
      EXPECT_EQ((found.*other.tensor).given(), &other == &one);
    EXPECT_TRUE(test::same_bits(found.*one.tensor, all.*one.tensor));
  }
}

// The derivative of sum(out dout) + sum(lse dlse) by one element, by central differences.
double slope(const AttentionArgs& args, const AttentionInputs& inputs, double* element) {
  constexpr double kStep = 1e-5;
  const auto objective = [&] {
    const Attended found = attention(args);
    double sum = 0;
    for (std::int64_t i = 0; i < found.out.element_count(); ++i)
      sum += found.out.data<double>()[i] * inputs.dout.data<double>()[i];
    for (std::int64_t i = 0; i < found.lse.element_count(); ++i)
      if (std::isfinite(found.lse.data<double>()[i]))
        sum += found.lse.data<double>()[i] * inputs.dlse.data<double>()[i];
    return sum;
  };
  const double kept = *element;
  *element = kept + kStep;
  const double above = objective();
  *element = kept - kStep;
  const double below = objective();
  *element = kept;
  return (above - below) / (2 * kStep);
}

TEST(Gradient, OfMaskedAndPaddedRowsIsTheSlope) {
  const AttentionInputs inputs({.dtype = DType::kF64,
                                .batch = 2,
                                .heads = 4,
                                .kv_heads = 2,
                                .query_length = 4,
                                .key_length = 5,
                                .head_dim = 3,
                                .value_dim = 2,
                                .mask = CaseMask::kBand,
                                .band = {2, 0},
                                .extents = {.query_length = {4, 3}, .key_begin = {0, 1}}});
  AttentionArgs args = inputs.args;
  args.kernel = "reference";
  const AttentionGrads grads =
      attention_backward(args, attention(args), inputs.dout, {.dlse = inputs.dlse});
  const std::pair<const ConstView*, const Tensor*> all[] = {
      {&args.q, &grads.dq}, {&args.keys.k, &grads.dk}, {&args.keys.v, &grads.dv}};
  for (const auto& [operand, gradient] : all)
    for (std::int64_t i = 0; i < gradient->element_count(); ++i) {
      auto* element = const_cast<double*>(operand->data<double>()) + i;
      EXPECT_NEAR(gradient->data<double>()[i], slope(args, inputs, element), 1e-8) << i;
    }
}

}  // namespace
}  // namespace heed::attention_gradient_test
