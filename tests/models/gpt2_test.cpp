// GPT-2 against the numbers of transformers, and its gradients against finite differences.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "heed/io/safetensors.h"
#include "heed/models/registry.h"
#include "ops/loss.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/golden.h"
#include "support/places.h"
#include "support/random_tensor.h"
#include "support/shared_data.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// Two layers; every option as GPT-2 has it but dropout.
constexpr std::string_view kTiny = R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8,
  "n_positions": 6, "vocab_size": 11, "attn_pdrop": 0, "resid_pdrop": 0.1, "embd_pdrop": 0.1})";

// Wide and long enough for the products of kernels/cpu/amx_tiles.h, where a CPU has them.
constexpr std::string_view kWide = R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2,
  "n_embd": 64, "n_positions": 24, "vocab_size": 37})";

// Rows past a length are what the reference computes there; nothing else depends on them.
void expect_golden(const fs::path& folder, double tolerance = 1e-4) {
  const LoadedModel loaded = load_model(folder);
  const Safetensors golden = Safetensors::open(folder / "golden.safetensors");
  const Tensor ids = test::ids_of(golden, "input_ids");
  const std::vector<std::int64_t> lengths =
      golden.contains("attention_mask")
          ? test::lengths_of(golden)
          : std::vector(static_cast<std::size_t>(ids.dim(0)), ids.dim(1));
  test::GoldenTap tap;
  heed::Run run;
  run.tap = &tap;
  run.extents = {.query_length = lengths, .key_length = lengths};
  const Tensor logits = loaded.model->forward({.ids = ids}, run);
  const auto expect = [&](const ConstView& got, const std::string& name, int axis, double within) {
    if (golden.contains(name))
      test::expect_rows_near(got, golden.tensor(name), axis, lengths, within, name);
  };
  ASSERT_TRUE(golden.contains("logits"));
  expect(logits, "logits", 1, tolerance);
  expect(tap.last, "last_hidden_state", 1, tolerance);
  for (std::size_t k = 0; k < tap.hidden.size(); ++k)
    expect(tap.hidden[k], "hidden_states." + std::to_string(k), 1, tolerance);
  for (std::size_t layer = 0; layer < tap.weights.size(); ++layer)
    expect(tap.weights[layer], "attentions." + std::to_string(layer), 2, 1e-5);
}

// Labels shifted by one, as decoders learn.
void expect_golden_loss(const fs::path& folder) {
  const LoadedModel loaded = load_model(folder);
  const Safetensors golden = Safetensors::open(folder / "golden.safetensors");
  const Tensor labels = test::ids_of(golden, "labels");
  Tensor next = Tensor::empty(labels.shape(), DType::kI32);
  for (std::int64_t i = 0; i < labels.element_count(); ++i)
    next.data<std::int32_t>()[i] =
        (i + 1) % labels.dim(1) == 0 ? kIgnoredTarget : labels.data<std::int32_t>()[i + 1];
  heed::Run run;
  const Tensor logits = loaded.model->forward({.ids = test::ids_of(golden, "input_ids")}, run);
  EXPECT_NEAR(cross_entropy({.logits = logits, .targets = next}).mean,
              golden.tensor("loss").data<float>()[0], 1e-4);
}

TEST(Gpt2, AgreesWithTransformersOnTheCommittedModel) {
  const fs::path folder = fs::path(HEED_SOURCE_DIR) / "tests/models/golden/gpt2";
  expect_golden(folder);
  expect_golden_loss(folder);
}

class Gpt2Golden : public testing::TestWithParam<const char*> {};

TEST_P(Gpt2Golden, AgreesWithTransformers) {
  HEED_NEEDS_SHARED(fs::path("models") / GetParam());
  expect_golden(test::shared_data() / "models" / GetParam());
}

INSTANTIATE_TEST_SUITE_P(SharedData, Gpt2Golden,
                         testing::Values("makemore-induction", "tiny/gpt2", "tiny/gpt2-f16",
                                         "tiny/gpt2-hub-names", "tiny/gpt2-inverse-layer-scale"));

TEST(Gpt2, LossAgreesWithTransformers) {
  HEED_NEEDS_SHARED("models/tiny/gpt2");
  for (const char* name : {"gpt2", "gpt2-f16", "gpt2-hub-names", "gpt2-inverse-layer-scale"})
    expect_golden_loss(test::shared_data() / "models/tiny" / name);
}

TEST(Gpt2, AgreesWithThePublishedNumbersOfGptNanoSort) {
  HEED_NEEDS_SHARED("models/gpt-nano-sort");
  const fs::path folder = test::shared_data() / "models/gpt-nano-sort";
  expect_golden(folder, 2e-5);
}

// In f64, far from the flat start.
std::unique_ptr<Model> exact_model(bool tied) {
  const std::string config = std::string(kTiny.substr(0, kTiny.size() - 1)) +
                             ", \"tie_word_embeddings\": " + (tied ? "true" : "false") + "}";
  auto model = make_model(config, 1);
  for (Parameter* parameter : model->parameters()) {
    parameter->value = Tensor::converted(parameter->value, DType::kF64);
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      parameter->value.data<double>()[i] *= 10;
  }
  return model;
}

// The check of the whole backward: cross entropy of a model in f64, dropout on.
TEST(Gpt2, GradientsAreFiniteDifferences) {
  for (const bool tied : {true, false}) {
    const auto model = exact_model(tied);
    const Tensor ids = test::random_ids({2, 5}, 11, 1);
    const Tensor targets = test::random_ids({2, 5}, 11, 2);
    Saved saved;
    heed::Run run;
    run.dropout_seed = 3;
    run.saved = &saved;
    const Tensor logits = model->forward({.ids = ids}, run);
    Tensor dlogits = Tensor::empty(logits.shape(), DType::kF64);
    cross_entropy({.logits = logits, .targets = targets, .dlogits = dlogits});
    Gradients gradients;
    model->backward(dlogits, {.ids = ids}, run, gradients);
    EXPECT_TRUE(saved.empty());
    run.saved = nullptr;
    for (Parameter* parameter : model->parameters()) {
      SCOPED_TRACE(parameter->name);
      test::expect_gradient(
          parameter->value, gradients.of(*parameter),
          [&] {
            return cross_entropy({.logits = model->forward({.ids = ids}, run), .targets = targets})
                .mean;
          },
          1e-5, 4);
    }
  }
}

TEST(Gpt2, TheLastPositionAloneHasTheSameBits) {
  const auto model = make_model(kTiny, 1);
  const Tensor ids = test::random_ids({2, 5}, 11, 1);
  heed::Run run;
  const Tensor all = model->forward({.ids = ids}, run);
  run.last_position_only = true;
  const Tensor last = model->forward({.ids = ids}, run);
  EXPECT_TRUE(test::same_bits(last, all.view().slice(1, 4, 5)));
}

TEST(Gpt2, ATextDoesNotDependOnWhatElseIsInTheBatch) {
  const auto model = make_model(kTiny, 1);
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
  const auto first = make_model(kTiny, 1);
  const auto same = make_model(kTiny, 1);
  const auto other = make_model(kTiny, 2);
  const Tensor& weight = first->parameters()[0]->value;
  EXPECT_TRUE(test::same_bits(weight, same->parameters()[0]->value));
  EXPECT_FALSE(test::same_bits(weight, other->parameters()[0]->value));
}

TEST(Gpt2, StartsNearTheLogOfTheVocabulary) {
  const auto model = make_model(kTiny, 1);
  const Tensor ids = test::random_ids({4, 6}, 11, 1);
  heed::Run run;
  const Tensor logits = model->forward({.ids = ids}, run);
  EXPECT_NEAR(cross_entropy({.logits = logits, .targets = test::random_ids({4, 6}, 11, 2)}).mean,
              std::log(11.0), 0.1);
}

TEST(Gpt2, ATextLongerThanThePositionsIsAnError) {
  const auto model = make_model(kTiny, 1);
  heed::Run run;
  const Tensor ids = Tensor::zeros({1, 7}, DType::kI32);
  EXPECT_HEED_ERROR(model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
                    "gpt2: ids is 7 tokens long, expected at most 6 (the model's positions)");
}

TEST(Gpt2, AnIdOutsideOfTheVocabularyIsAnError) {
  const auto model = make_model(kTiny, 1);
  heed::Run run;
  Tensor ids = Tensor::zeros({1, 3}, DType::kI32);
  ids.data<std::int32_t>()[2] = 11;
  EXPECT_HEED_ERROR(model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
                    "embedding: ids[2] is 11, expected 0 to 10");
}

TEST(Gpt2, AnEmptyBatchGivesNoLogits) {
  const auto model = make_model(kTiny, 1);
  heed::Run run;
  EXPECT_EQ(model->forward({.ids = Tensor::zeros({2, 0}, DType::kI32)}, run).shape(),
            (Shape{2, 0, 11}));
}

TEST(Gpt2, DropoutOfAttentionIsRefusedInTraining) {
  const auto model = make_model(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 4,
    "n_positions": 6, "vocab_size": 11})",
                                1);
  heed::Run run;
  const Tensor ids = Tensor::zeros({1, 3}, DType::kI32);
  model->forward({.ids = ids}, run);
  run.dropout_seed = 1;
  EXPECT_HEED_ERROR(model->forward({.ids = ids}, run), ErrorCode::kUnsupported,
                    "gpt2: attn_pdrop is 0.1, expected 0: dropout of attention weights is not "
                    "served in training yet");
}

}  // namespace
}  // namespace heed
