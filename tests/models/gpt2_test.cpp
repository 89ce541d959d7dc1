// GPT-2's gradients, batches and errors; tests/inspect/golden_check_test.cpp has its numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "heed/model.h"
#include "ops/loss.h"
#include "support/expect_error.h"
#include "support/model_gradients.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

// Two layers; every option as GPT-2 has it but dropout.
constexpr std::string_view kWithDropout =
    R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8,
  "n_positions": 6, "vocab_size": 11, "attn_pdrop": 0, "resid_pdrop": 0.1, "embd_pdrop": 0.1})";

// Wide and long enough for the products of ops/kernels/amx_tiles.h, where a CPU has them.
constexpr std::string_view kWide = R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2,
  "n_embd": 64, "n_positions": 24, "vocab_size": 37})";

// The check of the whole backward: cross entropy of a model in f64, dropout on.
TEST(Gpt2, GradientsAreFiniteDifferences) {
  for (const bool tied : {true, false}) {
    const std::string config = fmt::format("{}, \"tie_word_embeddings\": {}}}",
                                           kWithDropout.substr(0, kWithDropout.size() - 1), tied);
    const Tensor ids = test::random_ids({2, 5}, 11, 1);
    test::expect_model_gradients(*make_model(config, 1), {.ids = ids}, {.dropout_seed = 3},
                                 test::random_ids({2, 5}, 11, 2));
  }
}

TEST(Gpt2, TheLastPositionAloneHasTheSameBits) {
  const auto model = make_model(kWithDropout, 1);
  const Tensor ids = test::random_ids({2, 5}, 11, 1);
  heed::Run run;
  const Tensor all = model->forward({.ids = ids}, run);
  run.last_position_only = true;
  const Tensor last = model->forward({.ids = ids}, run);
  EXPECT_TRUE(test::same_bits(last, all.view().slice(1, 4, 5)));
}

TEST(Gpt2, ATextDoesNotDependOnWhatElseIsInTheBatch) {
  const auto model = make_model(kWithDropout, 1);
  const Tensor ids = test::random_ids({7, 6}, 11, 1);
  heed::Run run;
  const Tensor all = model->forward({.ids = ids}, run);
  for (std::int64_t row = 0; row < 7; ++row) {
    const Tensor alone = model->forward({.ids = ids.view().slice(0, row, row + 1)}, run);
    EXPECT_TRUE(test::same_bits(alone, all.view().slice(0, row, row + 1))) << row;
  }
}

TEST(Gpt2, InBulkDiffersByRoundingAlone) {
  const auto model = make_model(kWide, 1);
  const Tensor ids = test::random_ids({2, 24}, 37, 1);
  const Tensor targets = test::random_ids({2, 24}, 37, 2);
  std::array<Gradients, 2> gradients;
  for (const bool in_bulk : {false, true}) {
    Saved saved;
    heed::Run run{.saved = &saved, .in_bulk = in_bulk};
    Tensor logits = model->forward({.ids = ids}, run);
    cross_entropy({.logits = logits, .targets = targets, .dlogits = logits});
    model->backward(logits, {.ids = ids}, run, gradients[in_bulk ? 1 : 0]);
  }
  for (const Parameter* parameter : model->parameters())
    EXPECT_LE(test::largest_difference(gradients[0].of(*parameter), gradients[1].of(*parameter)),
              1e-6)
        << parameter->name;
}

TEST(Gpt2, TheSeedDecidesTheWeights) {
  const auto first = make_model(kWithDropout, 1);
  const auto same = make_model(kWithDropout, 1);
  const auto other = make_model(kWithDropout, 2);
  const Tensor& weight = first->parameters()[0]->value;
  EXPECT_TRUE(test::same_bits(weight, same->parameters()[0]->value));
  EXPECT_FALSE(test::same_bits(weight, other->parameters()[0]->value));
}

TEST(Gpt2, StartsNearTheLogOfTheVocabulary) {
  const auto model = make_model(kWithDropout, 1);
  const Tensor ids = test::random_ids({4, 6}, 11, 1);
  heed::Run run;
  const Tensor logits = model->forward({.ids = ids}, run);
  const Tensor targets = test::random_ids({4, 6}, 11, 2);
  EXPECT_NEAR(cross_entropy({.logits = logits, .targets = targets}).mean, std::log(11.0), 0.1);
}

TEST(Gpt2, ATextLongerThanThePositionsIsAnError) {
  const auto model = make_model(kWithDropout, 1);
  heed::Run run;
  const Tensor ids = Tensor::zeros({1, 7}, DType::kI32);
  EXPECT_HEED_ERROR(model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
                    "gpt2: ids is 7 tokens long, expected at most 6 (the model's positions)");
}

TEST(Gpt2, AnIdOutsideOfTheVocabularyIsAnError) {
  const auto model = make_model(kWithDropout, 1);
  heed::Run run;
  Tensor ids = Tensor::zeros({1, 3}, DType::kI32);
  ids.data<std::int32_t>()[2] = 11;
  EXPECT_HEED_ERROR(model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
                    "embedding: ids[2] is 11, expected 0 to 10");
}

TEST(Gpt2, AnEmptyBatchGivesNoLogits) {
  const auto model = make_model(kWithDropout, 1);
  heed::Run run;
  const Tensor ids = Tensor::zeros({2, 0}, DType::kI32);
  EXPECT_EQ(model->forward({.ids = ids}, run).shape(), (Shape{2, 0, 11}));
}

TEST(Gpt2, DropoutOfAttentionIsThatOfTheBatchHoweverItIsCut) {
  const auto model = make_model(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8,
    "n_positions": 6, "vocab_size": 11, "attn_pdrop": 0.5, "resid_pdrop": 0, "embd_pdrop": 0})",
                                1);
  const Tensor ids = test::random_ids({3, 6}, 11, 1);
  heed::Run run;
  const Tensor without = model->forward({.ids = ids}, run);
  run.dropout_seed = 1;
  const Tensor whole = model->forward({.ids = ids}, run);
  run.first_row = 2;
  const Tensor last = model->forward({.ids = ids.view().slice(0, 2, 3)}, run);
  EXPECT_TRUE(test::same_bits(whole.view().slice(0, 2, 3), last));
  EXPECT_FALSE(test::same_bits(whole, without));
}

}  // namespace
}  // namespace heed
