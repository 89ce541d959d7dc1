#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "heed/look.h"
#include "inspect/patterns.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::kSure;

constexpr std::int64_t kPeriod = 50;  // rows of the second half begin inside a block

TEST(HeadProbe, NamesThePatternsOfPureHeads) {
  const LayerAttention layer =
      test::layer_of(4, 2 * kPeriod, [](std::int64_t head, std::int64_t i, std::int64_t j) {
        const std::int64_t wanted[] = {i - 1, 0, i - kPeriod, i - kPeriod + 1};
        return j == wanted[head] ? kSure : 0.0F;
      });
  const std::vector<ProbedHead> heads = probe_layer(layer, 3, kPeriod);
  ASSERT_EQ(heads.size(), 4U);
  EXPECT_NEAR(heads[0].previous, 1, 1e-6);
  EXPECT_NEAR(heads[1].sink, 1, 1e-6);
  EXPECT_NEAR(heads[2].duplicate, 1, 1e-6);
  EXPECT_NEAR(heads[3].induction, 1, 1e-6);
  EXPECT_NEAR(heads[3].duplicate, 0, 1e-6);
  EXPECT_NEAR(heads[3].previous, 0, 1e-6);
  EXPECT_EQ(heads[3].layer, 3);
  EXPECT_EQ(heads[3].head, 3);
}

TEST(HeadProbe, ARowThatMayLookAheadHasANextToken) {
  const auto next = [](const Mask& mask) {
    const LayerAttention layer = test::layer_of(
        1, 2 * kPeriod,
        [](std::int64_t, std::int64_t i, std::int64_t j) { return j == i + 1 ? kSure : 0.0F; },
        mask);
    return probe_layer(layer, 0, kPeriod)[0].next;
  };
  EXPECT_EQ(next(Mask::causal()), 0);
  EXPECT_NEAR(next({}), 1, 1e-6);
}

TEST(HeadProbe, OfUniformRowsIsOneOverWhatARowSees) {
  const LayerAttention layer =
      test::layer_of(1, 4, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  const ProbedHead head = probe_layer(layer, 0, 2)[0];
  const double mean = (1.0 / 3 + 1.0 / 4) / 2;
  EXPECT_NEAR(head.previous, mean, 1e-6);
  EXPECT_NEAR(head.sink, mean, 1e-6);
  EXPECT_NEAR(head.duplicate, mean, 1e-6);
  EXPECT_NEAR(head.induction, mean, 1e-6);
}

LoadedModel small_model(std::int64_t positions) {
  LoadedModel model;
  model.name = "small";
  model.model = make_model(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8,
    "vocab_size": 20, "n_positions": )" +
                               std::to_string(positions) + "}",
                           1);
  return model;
}

TEST(HeadProbe, OfAModelIsTheMeanOverItsSequences) {
  const LoadedModel model = small_model(24);
  const Probe probe = probe_heads(model);
  EXPECT_EQ(probe.period, 12);
  EXPECT_EQ(probe.sequences, 16);
  ASSERT_EQ(probe.heads.size(), 4U);
  EXPECT_EQ(probe.heads[3].layer, 1);
  EXPECT_EQ(probe.heads[3].head, 1);
  EXPECT_NEAR(probe.heads[0].previous, 1.0 / 18, 0.02);  // fresh weights: nearly uniform rows
  EXPECT_NEAR(probe.loss_first, std::log(20), 0.1);
  EXPECT_NEAR(probe.loss_repeated, std::log(20), 0.1);
}

TEST(HeadProbe, IsAFunctionOfItsSeed) {
  const LoadedModel model = small_model(24);
  EXPECT_EQ(probe_heads(model, {.seed = 1}).loss_first, probe_heads(model, {.seed = 1}).loss_first);
  EXPECT_NE(probe_heads(model, {.seed = 1}).loss_first, probe_heads(model, {.seed = 2}).loss_first);
}

TEST(HeadProbe, RefusesWhatDoesNotFit) {
  const LoadedModel model = small_model(24);
  EXPECT_HEED_ERROR(probe_heads(model, {.period = 13}), ErrorCode::kInvalidArgument,
                    "probe: period is 13, expected 2 to 12 (half of the model's positions)");
  EXPECT_HEED_ERROR(probe_heads(model, {.sequences = 0}), ErrorCode::kInvalidArgument,
                    "probe: sequences is 0, expected at least 1");
  EXPECT_HEED_ERROR(probe_heads(small_model(3)), ErrorCode::kInvalidArgument,
                    "probe: the model has 3 positions, expected at least 4");
}

}  // namespace
}  // namespace heed
