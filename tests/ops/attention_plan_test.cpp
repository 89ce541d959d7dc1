#include <gtest/gtest.h>

#include "heed/masks/band.h"
#include "heed/ops/attention.h"

namespace heed {
namespace {

TEST(AttentionPlan, CountsAllowedPairsAndWork) {
  const Tensor q = Tensor::zeros({2, 4, 100, 8});
  const Tensor kv = Tensor::zeros({2, 2, 100, 8});
  const Plan plan = plan_attention({.q = q, .keys = {kv, kv}, .mask = causal()});
  EXPECT_EQ(plan.allowed_pairs, 2 * 4 * 100 * 101 / 2);
  EXPECT_EQ(plan.flop, 2.0 * (8 + 8) * static_cast<double>(plan.allowed_pairs));
  EXPECT_EQ(plan.bytes, 4.0 * (2 * 4 * 100 * (16 + 2) + 2 * 2 * 100 * 16));
  EXPECT_EQ(plan.mask, "band(left=-1, right=0)");
}

TEST(AttentionPlan, SaysWhichAlignmentWasTaken) {
  const Tensor x = Tensor::zeros({1, 1, 4, 8});
  AttentionArgs args = {.q = x, .keys = {x, x}};
  EXPECT_EQ(plan_attention(args).alignment, "bottom-right");
  args.extents.q_offset = {0};
  EXPECT_EQ(plan_attention(args).alignment, "top-left");
  args.extents.q_offset = {7};
  EXPECT_EQ(plan_attention(args).alignment, "given");
}

TEST(AttentionPlan, ANamedKernelIsTaken) {
  const Tensor x = Tensor::zeros({1, 1, 4, 8});
  const Plan plan = plan_attention({.q = x, .keys = {x, x}, .kernel = "reference"});
  EXPECT_EQ(plan.kernel, "reference");
  EXPECT_TRUE(plan.refusals.empty());
}

TEST(AttentionPlan, TheBackwardPassHasFiveProducts) {
  const Tensor x = Tensor::zeros({1, 1, 4, 8});
  const Plan plan = plan_attention_backward({.q = x, .keys = {x, x}});
  EXPECT_EQ(plan.flop, 2.0 * 5 * 8 * 16);
}

}  // namespace
}  // namespace heed
