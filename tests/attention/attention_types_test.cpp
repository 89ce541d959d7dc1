// 16-bit types lose little more than the rounding of inputs and outputs: compares the error against
// f64 on the unrounded inputs with that of f64 on the rounded inputs, rounded once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/machine.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "support/compare.h"
#include "support/every_kernel.h"
#include "support/random_tensor.h"

namespace heed::attention_types_test {
namespace {

using test::random_tensor;

struct Problem {
  DType dtype;
  const char* name;
  Scores scores = {};
  double spread = 1;  // of q: larger makes sharper weights
  std::int64_t queries = 200;
  std::int64_t keys = 200;
  int draws = 1;
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
  Tensor q, k, v, dout;

  void draw(std::uint64_t seed) {
    const std::int64_t queries = GetParam().queries, keys = GetParam().keys;
    q = scaled(random_tensor({1, 4, queries, 64}, seed, DType::kF64), GetParam().spread);
    k = random_tensor({1, 2, keys, 64}, seed + 1, DType::kF64);
    v = random_tensor({1, 2, keys, 64}, seed + 2, DType::kF64);
    dout = random_tensor({1, 4, queries, 64}, seed + 3, DType::kF64);
  }

  static Tensor scaled(Tensor x, double factor) {
    for (std::int64_t i = 0; i < x.element_count(); ++i) x.data<double>()[i] *= factor;
    return x;
  }

  // The answers for inputs rounded to `inputs` and computed in `computed`.
  Answers answers(DType inputs, DType computed, const std::string& kernel) const {
    const auto rounded = [&](const Tensor& x) {
      return Tensor::converted(Tensor::converted(x, inputs), computed);
    };
    const Tensor rq = rounded(q), rk = rounded(k), rv = rounded(v), rd = rounded(dout);
    const AttentionArgs args = {.q = rq,
                                .keys = {rk, rv},
                                .mask = Mask::causal(),
                                .scores = GetParam().scores,
                                .kernel = kernel};
    Attended attended = attention(args);
    AttentionGrads grads = attention_backward(args, attended, rd);
    return {std::move(attended.out), std::move(grads.dq), std::move(grads.dk), std::move(grads.dv)};
  }
};

/// The output alone: some CPUs then multiply bf16 in pairs, with rounded weights.
Tensor only_out(const AttentionArgs& args) {
  Tensor out = Tensor::empty({args.q.dim(0), args.q.dim(1), args.q.dim(2), args.keys.v.dim(3)},
                             args.q.dtype());
  attention(args, {.out = out});
  return out;
}

TEST_P(SixteenBit, LosesLittleMoreThanRoundingDoes) {
  const DType dtype = GetParam().dtype;
  const char* names[] = {"out", "dq", "dk", "dv"};
  const double allowed[] = {1.5, 2, 2, 2};
  const Tensor like = Tensor::zeros({1, 1, 1, 1}, dtype);
  for (int n = 0; n < GetParam().draws; ++n) {
    draw(std::uint64_t{4} * static_cast<std::uint64_t>(n) + 1);
    const Answers exact = answers(DType::kF64, DType::kF64, "");
    const Answers rounded = answers(dtype, DType::kF64, "");
    test::for_every_kernel(
        {.q = like, .keys = {like, like}, .scores = GetParam().scores}, [&](const auto& each) {
          const Answers found = answers(dtype, dtype, each.kernel);
          for (std::size_t a = 0; a < found.size(); ++a) {
            const double best = rms(Tensor::converted(rounded[a], dtype), exact[a]);
            EXPECT_LE(rms(found[a], exact[a]), allowed[a] * best) << names[a] << " draw " << n;
          }
          const Tensor q16 = Tensor::converted(q, dtype), k16 = Tensor::converted(k, dtype),
                       v16 = Tensor::converted(v, dtype);
          const Tensor out = only_out({.q = q16,
                                       .keys = {k16, v16},
                                       .mask = Mask::causal(),
                                       .scores = GetParam().scores,
                                       .kernel = each.kernel});
          EXPECT_LE(rms(out, exact[0]),
                    allowed[0] * rms(Tensor::converted(rounded[0], dtype), exact[0]))
              << "only out, draw " << n;
        });
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
    // One weight of most rows is near 1: dq and dk are small differences.
    {.dtype = DType::kF16, .name = "FewHalf", .spread = 6, .queries = 3, .keys = 5, .draws = 12},
    {.dtype = DType::kBF16, .name = "FewBrain", .spread = 6, .queries = 3, .keys = 5, .draws = 12},
    {.dtype = DType::kF16, .name = "FewerHalf", .spread = 12, .queries = 3, .keys = 5, .draws = 12},
    {.dtype = DType::kBF16,
     .name = "FewerBrain",
     .spread = 20,
     .queries = 3,
     .keys = 5,
     .draws = 12},
    {.dtype = DType::kF16, .name = "TallHalf", .spread = 20, .queries = 17, .keys = 9, .draws = 12},
    {.dtype = DType::kBF16,
     .name = "TallBrain",
     .spread = 12,
     .queries = 17,
     .keys = 9,
     .draws = 12},
};

INSTANTIATE_TEST_SUITE_P(Types, SixteenBit, testing::ValuesIn(kProblems),
                         [](const auto& problem) { return std::string(problem.param.name); });

TEST(Types, TheLogSumExpOfSixteenBitIsF32) {
  const Tensor x = random_tensor({1, 1, 3, 4}, 1, DType::kBF16);
  const Attended attended = attention({.q = x, .keys = {x, x}});
  EXPECT_EQ(attended.out.dtype(), DType::kBF16);
  EXPECT_EQ(attended.lse.dtype(), DType::kF32);
}

TEST(Types, OutAndOutLowAreOutToTwiceTheBits) {
  for (const auto& [dtype, roundoff] : {std::pair(DType::kF16, 0x1p-11), {DType::kBF16, 0x1p-8}}) {
    const Tensor x = random_tensor({2, 2, 70, 20}, 1, dtype);
    const Tensor x64 = Tensor::converted(x, DType::kF64);
    const std::vector<double> exact =
        test::values(attention({.q = x64, .keys = {x64, x64}, .mask = Mask::causal()}).out);
    test::for_every_kernel({.q = x, .keys = {x, x}, .mask = Mask::causal()}, [&](const auto& each) {
      const Attended attended = attention(each);
      const std::vector<double> high = test::values(attended.out);
      const std::vector<double> low = test::values(attended.out_low);
      const double of_f32 = 0x1p-20;
      for (std::size_t i = 0; i < exact.size(); ++i)
        EXPECT_NEAR(high[i] + low[i], exact[i], of_f32 + roundoff * roundoff * std::abs(exact[i]));
    });
  }
}

TEST(Types, OutLowIsZeroWhereOutIsNotFinite) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = random_tensor({1, 1, 3, 4}, 1, dtype);
    Tensor v = random_tensor({1, 1, 3, 2}, 2, DType::kF32);
    v.data<float>()[0] = std::numeric_limits<float>::infinity();
    v.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
    const Tensor v16 = Tensor::converted(v, dtype);
    test::for_every_kernel({.q = x, .keys = {x, v16}}, [&](const auto& each) {
      const Attended attended = attention(each);
      EXPECT_FALSE(std::isfinite(test::values(attended.out)[0]));
      EXPECT_EQ(test::values(attended.out_low), std::vector<double>(6, 0.0));
    });
  }
}

TEST(Types, OutLowIsZeroInPadding) {
  const Tensor x = random_tensor({1, 1, 3, 4}, 1, DType::kBF16);
  AttentionArgs args = {.q = x, .keys = {x, x}};
  args.extents.query_length = {1};
  test::for_every_kernel(args, [&](const auto& each) {
    const Attended attended = attention(each);
    const Tensor padding = Tensor::copy_of(attended.out_low.view().slice(2, 1, 3));
    EXPECT_EQ(test::values(padding), std::vector<double>(8, 0.0));
  });
}

TEST(Types, OutLowMayBeLeftOut) {
  const Tensor x = random_tensor({1, 2, 9, 8}, 1, DType::kBF16);
  test::for_every_kernel({.q = x, .keys = {x, x}}, [&](const auto& each) {
    const Attended attended = attention(each);
    Tensor out = Tensor::empty(x.shape(), DType::kBF16);
    Tensor lse = Tensor::empty({1, 2, 9}), low = Tensor::empty({1, 2, 9});
    attention(each, {out, lse, low});
    // Some CPUs then round the weights.
    EXPECT_LE(test::distance(out, attended.out), multiplies_bf16_fast() ? 0x1p-7 : 0);
    const Tensor zeros = Tensor::zeros(x.shape(), DType::kBF16);
    EXPECT_TRUE(
        test::same_bits(attention_backward(each, AttendedConstView{out, lse, low}, x).dq,
                        attention_backward(each, AttendedConstView{out, lse, low, zeros}, x).dq));
  });
}

TEST(Types, OnlySixteenBitHasAnOutLow) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Tensor x = random_tensor({1, 1, 3, 4}, 1, dtype);
    EXPECT_FALSE(attention({.q = x, .keys = {x, x}}).out_low.given());
  }
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

// Everything is computed in f32 and rounded once: that is the only difference between 16 bits and
// f32.
// With a scale that is a power of 2: CPUs that multiply pairs of bf16 scale their scores in two
// steps.
TEST(Types, SixteenBitRoundsTheAnswersOfF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = random_tensor({2, 2, 70, 16}, 1, dtype);
    const Tensor x32 = Tensor::converted(x, DType::kF32);
    test::for_every_kernel(
        {.q = x, .keys = {x, x}, .mask = Mask::causal()}, [&](const auto& narrow) {
          AttentionArgs wide = narrow;
          wide.q = x32;
          wide.keys = {x32, x32};
          const Attended attended = attention(narrow);
          const Attended exact = attention(wide);
          EXPECT_TRUE(test::same_bits(attended.out, Tensor::converted(exact.out, dtype)));
          EXPECT_TRUE(test::same_bits(attended.lse, exact.lse));
          // Sums of pairs are sums of fused multiply-adds: the scores are the same.
          Tensor out = Tensor::empty(x.shape(), dtype);
          Tensor lse = Tensor::empty(attended.lse.shape());
          attention(narrow, {.out = out, .lse = lse});
          EXPECT_TRUE(test::same_bits(lse, exact.lse));
        });
  }
}

double largest(const Tensor& x) {
  double most = 0;
  for (const double each : test::values(x)) most = std::max(most, std::abs(each));
  return most;
}

// Rows of several products, odd depths and numbers of keys, every step, and tiles that are seen in
// part.
TEST(Types, RoundedWeightsAreOffByTheirRounding) {
  for (const std::int64_t depth : {1, 2, 33, 64, 100})
    for (const std::int64_t keys : {9, 64, 131}) {
      const Tensor q = random_tensor({2, 4, 77, depth}, 1, DType::kBF16);
      const Tensor k = random_tensor({2, 2, keys, depth}, 2, DType::kBF16);
      const Tensor v = random_tensor({2, 2, keys, 21}, 3, DType::kBF16);
      const Tensor bias = random_tensor({4, 77, keys}, 4);
      const Tensor slopes = random_tensor({4}, 5);
      const Scores rules[] = {{},
                              {.scale = {.3, -.7, 1, 5}},
                              {.scale = {1e-40}},
                              {.softcap = 2},
                              {.bias = bias},
                              {.alibi = slopes},
                              {.scale = {.3}, .softcap = 1, .bias = bias, .sink = slopes}};
      for (const Scores& scores : rules)
        for (const Mask& mask : {Mask(), Mask::causal(), Mask::band({.left = 3, .right = 2})}) {
          AttentionArgs args = {.q = q, .keys = {k, v}, .mask = mask, .scores = scores};
          const Tensor found = only_out(args);
          args.kernel = "reference";
          const Attended exact = attention(args);
          const double rounding = 3 * 0x1p-9 * largest(v);  // of the weight, and twice of out
          EXPECT_LE(test::distance(found, exact.out) * largest(exact.out), rounding)
              << depth << " " << keys;
        }
    }
}

// Rounded weights sum to 1.
TEST(Types, EqualValuesGiveTheirValue) {
  const Tensor x = random_tensor({1, 2, 100, 64}, 1, DType::kBF16);
  Tensor values = Tensor::empty({1, 2, 100, 5}, DType::kBF16);
  std::fill_n(values.data<bf16>(), values.element_count(), bf16(1.5F));
  for (const double value : test::values(only_out({.q = x, .keys = {x, values}})))
    EXPECT_EQ(value, 1.5);
}

TEST(Types, AMaskedValueHasNoInfluenceOnOutAlone) {
  const Tensor x = random_tensor({1, 2, 100, 64}, 1, DType::kBF16);
  Tensor values = random_tensor({1, 2, 100, 40}, 2, DType::kBF16);
  const AttentionArgs args = {.q = x, .keys = {x, values}, .mask = Mask::causal()};
  const Tensor clean = only_out(args);
  for (const std::int64_t head : {0, 1})  // only the last row sees the last key
    std::fill_n(values.data<bf16>() + (head * 100 + 99) * 40, 40,
                bf16(std::numeric_limits<float>::infinity()));
  const Tensor found = only_out(args);
  EXPECT_TRUE(test::same_bits(Tensor::copy_of(found.view().slice(2, 0, 99)),
                              Tensor::copy_of(clean.view().slice(2, 0, 99))));
  EXPECT_TRUE(std::isinf(test::values(found)[99 * 40]));
}

}  // namespace
}  // namespace heed::attention_types_test
