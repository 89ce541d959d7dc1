// Weights that stay in the file: the same bits, and nothing in memory between two passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "heed/model.h"
#include "models/gguf_save.h"
#include "models/stored_weights.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

constexpr const char* kSizes = R"("vocab_size": 64, "max_position_embeddings": 32,
  "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4)";
const std::string kLlama =
    R"({"model_type": "llama", "num_key_value_heads": 2, )" + std::string(kSizes) + "}";
const std::string kTied =
    R"({"model_type": "llama", "tie_word_embeddings": true, )" + std::string(kSizes) + "}";
const std::string kExperts =
    R"({"model_type": "mixtral", "num_key_value_heads": 2, "num_local_experts": 4, )" +
    std::string(kSizes) + "}";
const std::string kGpt2 = R"({"model_type": "gpt2", "n_positions": 32, "n_embd": 64, "n_layer": 2,
  "n_head": 4, "vocab_size": 64})";

Tensor logits_after(const Model& model) {
  heed::Run run;
  const Tensor ids = test::random_ids({2, 9}, 64, 1);
  return model.forward({.ids = ids}, run);
}

std::int64_t streamed_count(const Model& model) {
  return std::ranges::count_if(model.parameters(), &Parameter::is_streamed);
}

void expect_same_bits(const std::filesystem::path& path, const std::string& what) {
  const LoadedModel held = load_model(path, {.packed = true, .dtype = DType::kF32});
  const LoadedModel streamed =
      load_model(path, {.packed = true, .dtype = DType::kF32, .streamed = true});
  EXPECT_EQ(streamed_count(*held.model), 0) << what;
  EXPECT_GE(streamed_count(*streamed.model), 8) << what;
  const Tensor logits = logits_after(*held.model);
  EXPECT_EQ(test::largest_difference(logits_after(*streamed.model), logits), 0) << what;
  EXPECT_EQ(test::largest_difference(logits_after(*streamed.model), logits), 0) << what;  // again
  EXPECT_EQ(parameter_count(*streamed.model), parameter_count(*held.model)) << what;
  hold_weights(*streamed.model);
  EXPECT_EQ(streamed_count(*streamed.model), 0) << what;
  EXPECT_EQ(test::largest_difference(logits_after(*streamed.model), logits), 0) << what;
}

TEST(StreamedWeights, OfAFolderGiveTheSameBits) {
  for (const std::string& config : {kLlama, kTied, kExperts, kGpt2})
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const test::Scratch scratch;
      save_model(scratch.folder(), *make_model(config, 3), nullptr, dtype);
      expect_same_bits(scratch.folder(), config + std::string(name(dtype)));
    }
}

TEST(StreamedWeights, OfAGgufFileGiveTheSameBits) {
  for (const std::string& config : {kLlama, kTied, kExperts, kGpt2})
    for (const char* type : {"F32", "F16", "Q8_0", "Q4_0"}) {
      const test::Scratch scratch;
      LoadedModel model;
      model.model = make_model(config, 3);
      save_gguf(scratch / "m.gguf", model, type);
      expect_same_bits(scratch / "m.gguf", config + type);
    }
}

TEST(ByteActivations, ChangeLogitsALittleAndAreTheSameStreamed) {
  for (const std::string& config : {kLlama, kTied, kExperts}) {
    const test::Scratch scratch;
    LoadedModel model;
    model.model = make_model(config, 3);
    save_gguf(scratch / "m.gguf", model, "Q4_0");
    const auto logits = [&](bool by_bytes, bool streamed) {
      const LoadedModel loaded =
          load_model(scratch / "m.gguf", {.packed = true, .streamed = streamed});
      if (by_bytes) round_activations(loaded);
      return logits_after(*loaded.model);
    };
    const Tensor exact = logits(false, false), rounded = logits(true, false);
    const double difference = test::largest_difference(rounded, exact);
    EXPECT_GT(difference, 0) << config;
    EXPECT_LT(difference, 0.02 * test::largest_difference(exact, Tensor::zeros(exact.shape())))
        << config;
    EXPECT_EQ(test::largest_difference(logits(true, true), rounded), 0) << config;
  }
}

TEST(ByteActivations, NeedWeightsThatGain) {
  const test::Scratch scratch;
  save_model(scratch / "plain", *make_model(kLlama, 3), nullptr, DType::kF16);
  EXPECT_HEED_ERROR(round_activations(load_model(scratch / "plain", {.packed = true})),
                    ErrorCode::kUnsupported,
                    "activations is q8, expected f32: no weight of plain is quantised in blocks");
}

TEST(StreamedWeights, OutliveTheFilesName) {
  const test::Scratch scratch;
  save_model(scratch.folder(), *make_model(kLlama, 3), nullptr, DType::kF16);
  const LoadedModel streamed = load_model(scratch.folder(), {.packed = true, .streamed = true});
  const Tensor before = logits_after(*streamed.model);
  std::filesystem::remove(scratch / "model.safetensors");
  EXPECT_EQ(test::largest_difference(logits_after(*streamed.model), before), 0);
}

}  // namespace
}  // namespace heed
