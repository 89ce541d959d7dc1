// The conventions of docs/attention.md, each on numbers that can be checked by hand. Three keys
// whose scores are all 0, with the values 1, 2 and 4: a row that sees n of them has their mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "heed/attention.h"
#include "heed/mask.h"
#include "support/compare.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Conventions : testing::Test {
  Conventions() { std::copy_n(std::array{1.0, 2.0, 4.0}.begin(), 3, v.data<double>()); }

  Tensor q = Tensor::zeros({1, 1, 2, 4}, DType::kF64);
  Tensor k = Tensor::zeros({1, 1, 3, 4}, DType::kF64);
  Tensor v = Tensor::zeros({1, 1, 3, 1}, DType::kF64);
  AttentionArgs args = {.q = q, .keys = {k, v}};
};

using Numbers = std::vector<double>;

TEST_F(Conventions, TrueInABooleanMaskMayAttend) {
  Tensor kept = Tensor::zeros({2, 3}, DType::kBool);
  kept.data<bool>()[0] = kept.data<bool>()[4] = true;
  args.mask = Mask::keep(kept);
  EXPECT_EQ(values(attention(args).out), (Numbers{1, 2}));
}

TEST_F(Conventions, AFloatIsAddedAndMinusInfinityHides) {
  Tensor bias = Tensor::zeros({2, 3}, DType::kF64);
  bias.data<double>()[2] = -kInfinity;
  bias.data<double>()[3] = std::log(2.0);
  args.scores.bias = bias;
  const Numbers out = values(attention(args).out);
  EXPECT_DOUBLE_EQ(out[0], 1.5);
  EXPECT_DOUBLE_EQ(out[1], 2.0);  // (2 * 1 + 2 + 4) / 4
}

TEST_F(Conventions, CausalEndsWithTheLastQueryAndTheLastKey) {
  args.mask = Mask::causal();
  const Numbers out = values(attention(args).out);
  EXPECT_DOUBLE_EQ(out[0], 1.5);
  EXPECT_DOUBLE_EQ(out[1], 7.0 / 3);
  EXPECT_EQ(plan_attention(args).alignment, "bottom-right");
}

TEST_F(Conventions, CausalFromPositionZeroBeginsWithTheFirstQueryAndTheFirstKey) {
  args.mask = Mask::causal();
  args.extents.q_offset = {0};
  const Numbers out = values(attention(args).out);
  EXPECT_DOUBLE_EQ(out[0], 1.0);
  EXPECT_DOUBLE_EQ(out[1], 1.5);
  EXPECT_EQ(plan_attention(args).alignment, "top-left");
}

TEST_F(Conventions, ARowThatSeesNobodyIsZeroAndItsLseMinusInfinity) {
  const Tensor kept = Tensor::zeros({2, 3}, DType::kBool);
  args.mask = Mask::keep(kept);
  const Attended attended = attention(args);
  EXPECT_EQ(values(attended.out), (Numbers{0, 0}));
  EXPECT_EQ(values(attended.lse), (Numbers{-kInfinity, -kInfinity}));
}

TEST_F(Conventions, TheLogSumExpIsNatural) {
  const Numbers lse = values(attention(args).lse);
  EXPECT_DOUBLE_EQ(lse[0], std::log(3.0));
}

TEST_F(Conventions, TheSidesOfAWindowCountKeysBesideTheOwnOne) {
  args.mask = Mask::band({.left = 1, .right = 0});
  const Numbers out = values(attention(args).out);
  EXPECT_DOUBLE_EQ(out[0], 1.5);  // at position 1: keys 0 and 1
  EXPECT_DOUBLE_EQ(out[1], 3.0);
}

TEST(Documents, InOneSequenceAgreeWithThoseApartWithinRounding) {
  const Tensor q = test::random_tensor({1, 2, 150, 16}, 1);
  const Tensor k = test::random_tensor({1, 2, 150, 16}, 2);
  const Tensor v = test::random_tensor({1, 2, 150, 16}, 3);
  Tensor ids = Tensor::zeros({150}, DType::kI64);
  std::fill_n(ids.data<std::int64_t>() + 37, 113, 1);
  const Tensor together =
      attention({.q = q, .keys = {k, v}, .mask = Mask::causal() & Mask::segments(ids)}).out;
  const auto part = [](const Tensor& x) { return x.view().slice(2, 37, 150); };
  const Tensor apart =
      attention({.q = part(q), .keys = {part(k), part(v)}, .mask = Mask::causal()}).out;
  EXPECT_LE(test::distance(part(together), apart), 1e-6);
}

}  // namespace
}  // namespace heed
