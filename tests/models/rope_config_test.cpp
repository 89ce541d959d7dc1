// Rotary positions as `config.json` describes them. The expected numbers are those that
// transformers 5.23 reads from the same keys.
#include "models/rope_config.h"

#include <gtest/gtest.h>

#include <string>

#include "heed/model.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

RopeScaling read(const std::string& members) {
  return read_rope(Config::parse("{" + members + "}", "config"), {.head_dim = 8, .positions = 64});
}

TEST(RopeConfig, WholeHeadsTurnWhateverShareIsSaid) {
  EXPECT_EQ(read(R"("partial_rotary_factor": 0.5)").width, 8);
  EXPECT_EQ(
      read(R"("rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5})").width,
      8);
}

TEST(RopeConfig, AShareOfHeadsWhosePositionsAreScaledIsRefused) {
  EXPECT_HEED_ERROR(
      read(R"("rope_scaling": {"type": "linear", "factor": 2, "partial_rotary_factor": 0.5})"),
      ErrorCode::kUnsupported,
      "config: line 1, column 75: rope_scaling.partial_rotary_factor is 0.5, expected 1: the "
      "positions of whole heads are scaled");
}

TEST(RopeConfig, TheFirstPairsTurnAtThePaceOfWholeHeads) {
  const Config config = Config::parse(
      R"({"rope_parameters": {"full": {"rope_type": "proportional", "partial_rotary_factor": 0.6,
          "rope_theta": 16, "factor": 2}}})",
      "config");
  const RopeScaling rope = read_rope_of(
      config, "full", {.head_dim = 8, .positions = 64, .may_be_proportional = true}, false);
  EXPECT_EQ(rope.width, 8);
  EXPECT_EQ(rope_frequencies(rope, 64), (std::vector<double>{0.5, 0.25, 0, 0}));
}

TEST(RopeConfig, ScalingTakesTheParametersPlace) {
  const std::string parameters =
      R"("rope_parameters": {"rope_type": "default", "rope_theta": 500})";
  const std::string scaling = R"(, "rope_scaling": {"rope_type": "linear", "factor": 2)";
  const RopeScaling alone = read(parameters + scaling + "}");
  EXPECT_EQ(alone.kind, RopeScalingKind::kLinear);
  EXPECT_EQ(alone.factor, 2);
  EXPECT_EQ(alone.base, 10000);
  EXPECT_EQ(read(parameters + scaling + R"(}, "rope_theta": 77)").base, 77);
  EXPECT_EQ(read(parameters + scaling + R"(, "rope_theta": 33}, "rope_theta": 77)").base, 33);
}

TEST(RopeConfig, AnEmptyScalingTakesNoPlace) {
  for (const char* empty : {"{}", "null"}) {
    const RopeScaling rope =
        read(R"("rope_parameters": {"rope_type": "linear", "factor": 3}, "rope_scaling": )" +
             std::string(empty));
    EXPECT_EQ(rope.kind, RopeScalingKind::kLinear) << empty;
    EXPECT_EQ(rope.factor, 3) << empty;
  }
}

TEST(RopeConfig, AScalingWithoutItsFactorIsRefused) {
  for (const std::string kind : {"linear", "dynamic", "llama3", "yarn"})
    EXPECT_HEED_ERROR(read(R"("rope_scaling": {"rope_type": ")" + kind + "\"}"),
                      ErrorCode::kCorrupt,
                      "config: rope_scaling.factor is missing, expected a number of at least 1, as "
                      "the scaling is '" +
                          kind + "'");
  EXPECT_HEED_ERROR(read(R"("rope_scaling": {"rope_type": "llama3", "factor": 2})"),
                    ErrorCode::kCorrupt,
                    "config: rope_scaling.low_freq_factor is missing, expected a number, as the "
                    "scaling is 'llama3'");
}

TEST(RopeConfig, WhereTheFactorMayBeMissingItIsTheStretch) {
  EXPECT_EQ(read(R"("rope_scaling": {"rope_type": "yarn", "factor": null,
                    "original_max_position_embeddings": 16})")
                .factor,
            4);
  const std::string lists = R"("short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2])";
  const RopeScaling rope = read(R"("rope_scaling": {"rope_type": "longrope",
      "original_max_position_embeddings": 16, )" +
                                lists + "}");
  EXPECT_EQ(rope.factor, 4);
  EXPECT_NEAR(rope.length, 1.224744871391589, 1e-12);
}

TEST(RopeConfig, TheTrainedLengthBesideTheScalingCountsFirst) {
  const RopeScaling rope = read(R"("original_max_position_embeddings": 8, "rope_scaling": {
      "rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 16})");
  EXPECT_EQ(rope.trained_positions, 8);
}

RopeScaling read_of(const std::string& members) {
  return read_rope_of(Config::parse("{" + members + "}", "config"), "full_attention",
                      {.head_dim = 8, .positions = 64}, /*is_scaled=*/true);
}

TEST(RopeConfig, ScalingUpdatesAKindOfLayers) {
  const std::string parameters =
      R"("rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 500}})";
  const std::string scaling = R"("rope_scaling": {"rope_type": "linear", "factor": 2})";
  EXPECT_EQ(read_of(parameters).base, 500);
  EXPECT_EQ(read_of(scaling).factor, 2);
  const RopeScaling both = read_of(parameters + ", " + scaling);
  EXPECT_EQ(both.kind, RopeScalingKind::kLinear);
  EXPECT_EQ(both.factor, 2);
  EXPECT_EQ(both.base, 500);
  EXPECT_EQ(read_of(parameters + R"(, "rope_scaling": {})").base, 500);
  EXPECT_HEED_ERROR(read_of(parameters + R"(, "rope_scaling": {"rope_type": "linear"})"),
                    ErrorCode::kCorrupt,
                    "config (merged): rope_parameters.full_attention.factor is missing, expected a "
                    "number of at least 1, as the scaling is 'linear'");
}

TEST(RopeConfig, AKindOfLayersHasTheTrainedLengthButNotTheRoundingOfItsRamp) {
  const std::string yarn = R"({"rope_type": "yarn", "factor": 4, "truncate": false})";
  const RopeScaling inside = read_of(R"("original_max_position_embeddings": 8, "rope_parameters":
      {"full_attention": )" + yarn + "}");
  EXPECT_EQ(inside.trained_positions, 64);
  EXPECT_TRUE(inside.rounded_ramp);
  EXPECT_FALSE(read_of(R"("rope_parameters": {"truncate": false, "full_attention": )" + yarn + "}")
                   .rounded_ramp);
}

TEST(RopeConfig, WindowsMayBeginInTheFirstLayer) {
  const auto model = [](const char* first) {
    return make_model(R"({"model_type": "qwen2", "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 2, "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11,
        "use_sliding_window": true, "sliding_window": 2, "max_window_layers": )" +
                          std::string(first) + "}",
                      1);
  };
  const auto logits = [](const Model& of) {
    heed::Run run;
    const Tensor ids = test::random_ids({1, 5}, 11, 1);
    return of.forward({.ids = ids}, run);
  };
  EXPECT_FALSE(test::same_bits(logits(*model("0")), logits(*model("1"))));
}

}  // namespace
}  // namespace heed
