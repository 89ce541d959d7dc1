#include <gtest/gtest.h>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/threads.h"
#include "support/expect_error.h"

namespace heed {
namespace {

TEST(AttentionPlan, CountsAllowedPairsAndWork) {
  const Tensor q = Tensor::zeros({2, 4, 100, 8});
  const Tensor kv = Tensor::zeros({2, 2, 100, 8});
  const Plan plan = plan_attention({.q = q, .keys = {kv, kv}, .mask = Mask::causal()});
  EXPECT_EQ(plan.allowed_pairs, 2 * 4 * 100 * 101 / 2);
  EXPECT_EQ(plan.flop, 2.0 * (8 + 8) * static_cast<double>(plan.allowed_pairs));
  EXPECT_EQ(plan.bytes, 4.0 * (2 * 4 * 100 * (16 + 2) + 2 * 2 * 100 * 16));
  EXPECT_EQ(plan.mask, "band(left=-1, right=0)");
}

// Views without memory, because a plan reads none.
TEST(AttentionPlan, OfAHugeProblemHasItsNumbersOrIsRefused) {
  const auto view = [](std::int64_t batch, std::int64_t length) {
    return ConstView(nullptr, DType::kF32, {batch, 1, length, 8}, {0, 0, 0, 1});
  };
  const auto plan = [&](std::int64_t batch, std::int64_t queries, std::int64_t keys) {
    const ConstView k = view(batch, keys);
    return plan_attention({.q = view(batch, queries), .keys = {k, k}});
  };
  const std::int64_t large = std::int64_t{1} << 31;
  EXPECT_EQ(plan(1, large, large).allowed_pairs, std::int64_t{1} << 62);
  EXPECT_EQ(plan(1, large, large).bytes, 4.0 * 0x1p31 * (4 * 8 + 2));
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_HEED_ERROR(plan(1, huge, huge), ErrorCode::kUnsupported,
                    "plan_attention: the number of pairs is 1.21e+24, expected less than 2^63");
  EXPECT_HEED_ERROR(plan(std::int64_t{1} << 32, 1, 1), ErrorCode::kInvalidArgument,
                    "attention: q.shape[0] is 4294967296, expected at most 67108864 (sequences)");
}

TEST(AttentionPlan, TellsAllOfItInLines) {
  const Tensor x = Tensor::zeros({1, 1, 4, 8});
  const Plan plan = plan_attention({.q = x, .keys = {x, x}, .kernel = "reference"});
  EXPECT_TRUE(plan.text.starts_with("forward    reference\n  mask     none\n")) << plan.text;
  const Plan masked = plan_attention({.q = x, .keys = {x, x}, .mask = Mask::causal()});
  EXPECT_NE(masked.text.find("\n  mask     band(left=-1, right=0), bottom-right\n"),
            std::string::npos)
      << masked.text;
  EXPECT_TRUE(plan_attention_backward({.q = x, .keys = {x, x}}).text.starts_with("backward   "));
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

// Up to D = Dv = 256 a thread of the forward pass needs at most 1 MiB, at any length.
TEST(AttentionPlan, WorkspaceOfTheForwardPassIsBounded) {
  for (const std::int64_t length : {1, 1000, 100'000}) {
    const Tensor x = Tensor::zeros({1, 1, length, 256});
    const Plan plan = plan_attention({.q = x, .keys = {x, x}});
    EXPECT_GT(plan.workspace_bytes, 0);
    EXPECT_LE(plan.workspace_bytes, (std::int64_t{1} << 20) * thread_count());
  }
}

// Heads that share a bias take turns at each of its 2 x 2 tiles.
TEST(AttentionPlan, WorkspaceOfTheBackwardPassCountsTheTurnsAtASharedBias) {
  const Tensor x = Tensor::zeros({1, 3, 100, 16});
  const Tensor shared = Tensor::zeros({100, 100});
  const Tensor own = Tensor::zeros({3, 100, 100});
  const auto workspace = [&](const Tensor& bias) {
    return plan_attention_backward({.q = x, .keys = {x, x}, .scores = {.bias = bias}})
        .workspace_bytes;
  };
  EXPECT_EQ(workspace(shared) - workspace(own), 2 * 2 * 8);
}

// Every kernel supports every problem: only the CPU can be a reason to refuse.
TEST(AttentionPlan, NothingIsRefusedForTheProblemsSake) {
  const Tensor x = Tensor::zeros({1, 1, 4, 8});
  const Tensor sink = Tensor::zeros({1});
  const AttentionArgs plain = {.q = x, .keys = {x, x}};
  AttentionArgs args = plain;
  args.scores = {.softcap = 30, .sink = sink};
  args.dropout = Dropout{.rate = 0.1};
  EXPECT_EQ(plan_attention(args).kernel, plan_attention(plain).kernel);
  EXPECT_EQ(plan_attention_backward(args, {.dscale = true}).kernel,
            plan_attention_backward(plain).kernel);
  for (const Plan::Refusal& refusal : plan_attention(args).refusals)
    EXPECT_TRUE(refusal.reason.starts_with("this CPU has no") ||
                refusal.reason.starts_with("heed was built for CPUs without") ||
                refusal.reason.starts_with("HEED_ISA"))
        << refusal.reason;
}

TEST(AttentionPlan, TheBackwardPassHasFiveProducts) {
  const Tensor x = Tensor::zeros({1, 1, 4, 8});
  const Plan plan = plan_attention_backward({.q = x, .keys = {x, x}});
  EXPECT_EQ(plan.flop, 2.0 * 5 * 8 * 16);
}

}  // namespace
}  // namespace heed
