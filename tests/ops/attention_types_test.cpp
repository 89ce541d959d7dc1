// 16-bit types lose what rounding their inputs and outputs costs, and little more: the error
// against f64 on the inputs before rounding, beside that of f64 on the rounded inputs, rounded
// once.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "heed/masks/band.h"
#include "heed/ops/attention.h"
#include "ops/attention_candidates.h"
#include "ops/attention_problem.h"
#include "support/compare.h"
#include "support/every_kernel.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;

struct Problem {
  DType dtype;
  const char* name;
  Scores scores = {};
  double spread = 1;  // of q: larger makes sharper weights
};

// out, dq, dk, dv.
using Answers = std::array<Tensor, 4>;

double rms(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = test::values(a);
  const std::vector<double> y = test::values(b);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

class SixteenBit : public testing::TestWithParam<Problem> {
 protected:
  static constexpr std::int64_t kLength = 200;

  Tensor q = scaled(random_tensor({1, 4, kLength, 64}, 1, DType::kF64), GetParam().spread);
  Tensor k = random_tensor({1, 2, kLength, 64}, 2, DType::kF64);
  Tensor v = random_tensor({1, 2, kLength, 64}, 3, DType::kF64);
  Tensor dout = random_tensor({1, 4, kLength, 64}, 4, DType::kF64);

  static Tensor scaled(Tensor x, double factor) {
    for (std::int64_t i = 0; i < x.element_count(); ++i) x.data<double>()[i] *= factor;
    return x;
  }

  // The answers for inputs that were rounded to `inputs` and then computed with in `computed`.
  Answers answers(DType inputs, DType computed, const std::string& kernel) const {
    const auto rounded = [&](const Tensor& x) {
      return Tensor::converted(Tensor::converted(x, inputs), computed);
    };
    const Tensor rq = rounded(q), rk = rounded(k), rv = rounded(v), rd = rounded(dout);
    const AttentionArgs args = {
        .q = rq, .keys = {rk, rv}, .mask = causal(), .scores = GetParam().scores, .kernel = kernel};
    Attended attended = attention(args);
    AttentionGrads grads = attention_backward(args, attended, rd);
    return {std::move(attended.out), std::move(grads.dq), std::move(grads.dk), std::move(grads.dv)};
  }
};

TEST_P(SixteenBit, LosesLittleMoreThanRoundingDoes) {
  const DType dtype = GetParam().dtype;
  const Answers exact = answers(DType::kF64, DType::kF64, "");
  const Answers rounded = answers(dtype, DType::kF64, "");
  const char* names[] = {"out", "dq", "dk", "dv"};
  const double allowed[] = {1.5, 2, 2, 2};
  for (const auto& candidate : forward_candidates()) {
    const Tensor like = Tensor::zeros({1, 1, 1, 1}, dtype);
    const AttentionArgs args = {.q = like, .keys = {like, like}, .scores = GetParam().scores};
    const CheckedAttention checked(args);
    if (!refusal(candidate, checked.problem, kernels::features(checked.problem)).empty()) continue;
    const Answers found = answers(dtype, dtype, std::string(candidate.name));
    for (std::size_t n = 0; n < found.size(); ++n) {
      const double best = rms(Tensor::converted(rounded[n], dtype), exact[n]);
      EXPECT_LE(rms(found[n], exact[n]), allowed[n] * best) << candidate.name << " " << names[n];
    }
  }
}

const Problem kProblems[] = {
    {.dtype = DType::kF16, .name = "Half"},
    {.dtype = DType::kBF16, .name = "Brain"},
    {.dtype = DType::kF16, .name = "SharpHalf", .spread = 6},
    {.dtype = DType::kBF16, .name = "SharpBrain", .spread = 6},
    {.dtype = DType::kBF16,
     .name = "CosineBrain",
     .scores = {.scale = {8}, .similarity = Similarity::kCosine}},
    {.dtype = DType::kF16, .name = "SigmoidHalf", .scores = {.normaliser = Normaliser::kSigmoid}},
};

INSTANTIATE_TEST_SUITE_P(Types, SixteenBit, testing::ValuesIn(kProblems),
                         [](const auto& problem) { return std::string(problem.param.name); });

TEST(Types, TheLogSumExpOfSixteenBitIsF32) {
  const Tensor x = random_tensor({1, 1, 3, 4}, 1, DType::kBF16);
  const Attended attended = attention({.q = x, .keys = {x, x}});
  EXPECT_EQ(attended.out.dtype(), DType::kBF16);
  EXPECT_EQ(attended.lse.dtype(), DType::kF32);
}

TEST(Types, KeysAndValuesMayHaveTheirOwn) {
  const Tensor q = random_tensor({1, 2, 70, 20}, 1);
  const Tensor k = random_tensor({1, 2, 80, 20}, 2, DType::kBF16);
  const Tensor v = random_tensor({1, 2, 80, 20}, 3, DType::kF16);
  const Tensor k32 = Tensor::converted(k, DType::kF32);
  const Tensor v32 = Tensor::converted(v, DType::kF32);
  test::for_every_kernel({.q = q, .keys = {k, v}}, [&](const AttentionArgs& narrow) {
    AttentionArgs wide = narrow;
    wide.keys = {k32, v32};
    const Attended attended = attention(narrow);
    EXPECT_TRUE(test::same_bits(attended.out, attention(wide).out));
    const AttentionGrads grads = attention_backward(narrow, attended, q);
    const AttentionGrads exact = attention_backward(wide, attended, q);
    EXPECT_TRUE(test::same_bits(grads.dq, exact.dq));
    EXPECT_TRUE(test::same_bits(grads.dk, Tensor::converted(exact.dk, DType::kBF16)));
    EXPECT_TRUE(test::same_bits(grads.dv, Tensor::converted(exact.dv, DType::kF16)));
  });
}

// Everything is computed in f32 and rounded once: 16 bit differs from f32 in that alone.
TEST(Types, SixteenBitRoundsTheAnswersOfF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = random_tensor({2, 2, 70, 20}, 1, dtype);
    const Tensor x32 = Tensor::converted(x, DType::kF32);
    test::for_every_kernel({.q = x, .keys = {x, x}, .mask = causal()}, [&](const auto& narrow) {
      AttentionArgs wide = narrow;
      wide.q = x32;
      wide.keys = {x32, x32};
      const Attended attended = attention(narrow);
      const Attended exact = attention(wide);
      EXPECT_TRUE(test::same_bits(attended.out, Tensor::converted(exact.out, dtype)));
      EXPECT_TRUE(test::same_bits(attended.lse, exact.lse));
    });
  }
}

}  // namespace
}  // namespace heed
