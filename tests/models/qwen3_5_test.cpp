// Qwen3.5: layers with attention beside layers of a gated delta rule.
// tests/inspect/golden_check_test.cpp compares its numbers with transformers.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "heed/generate.h"
#include "heed/look.h"
#include "heed/model.h"
#include "heed/session.h"
#include "support/expect_error.h"
#include "support/places.h"
#include "support/random_tensor.h"
#include "support/scratch.h"
#include "support/tiny_configs.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using Counts = std::vector<std::int64_t>;

LoadedModel golden_model() {
  return load_model(fs::path(HEED_SOURCE_DIR) / "tests/models/golden/qwen3_5");
}

std::string config(const std::string& members) {
  return R"({"model_type": "qwen3_5_text", "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 8, "hidden_size": 8, "intermediate_size": 12,
    "vocab_size": 11, "linear_num_key_heads": 2,
    "linear_key_head_dim": 4, "linear_value_head_dim": 4,
)" + members +
         "}";
}

TEST(Qwen3_5, OverACacheLogitsAreThoseOfTheWholeTextWhateverThePieces) {
  const LoadedModel loaded = golden_model();
  const Tensor ids = test::random_ids({2, 11}, 61, 3);
  heed::Run whole;
  const Tensor due = loaded.model->forward({.ids = ids}, whole);
  KvCache cache = make_cache(*loaded.model, 2, 11);
  for (const std::int64_t count : {3, 1, 1, 4, 2}) {
    const std::int64_t begin = cache.lengths()[0];
    const Tensor part = Tensor::copy_of(ids.view().slice(1, begin, begin + count));
    heed::Run run;
    run.cache = &cache;
    EXPECT_LE(test::largest_difference(loaded.model->forward({.ids = part}, run),
                                       due.view().slice(1, begin, begin + count)),
              1e-4)
        << begin;
  }
}

TEST(Qwen3_5, PaddingHasNoInfluence) {
  const LoadedModel loaded = golden_model();
  Tensor ids = test::random_ids({2, 7}, 61, 3);
  heed::Run run{.extents = {.query_length = {7, 4}, .key_length = {7, 4}}};
  const Tensor before = loaded.model->forward({.ids = ids}, run);
  for (std::int64_t t = 4; t < 7; ++t) ids.data<std::int32_t>()[7 + t] = 5;
  const Tensor after = loaded.model->forward({.ids = ids}, run);
  EXPECT_TRUE(test::same_bits(before.view().select(0, 0), after.view().select(0, 0)));
  EXPECT_TRUE(test::same_bits(before.view().select(0, 1).slice(0, 0, 4),
                              after.view().select(0, 1).slice(0, 0, 4)));
}

TEST(Qwen3_5, PromptsOfDifferentLengthsAreContinuedAsAlone) {
  const LoadedModel loaded = golden_model();
  const std::vector<std::vector<TokenId>> prompts = {{3, 17, 4, 9, 20}, {5, 8}};
  const auto written = [&](std::vector<std::vector<TokenId>> some, std::int64_t beams) {
    std::vector<std::vector<TokenId>> ids;
    for (const Generated& text : generate(*loaded.model, {.prompts = std::move(some),
                                                          .most_tokens = 12,
                                                          .sampling = {.temperature = 0},
                                                          .beams = beams})) {
      ids.emplace_back();
      for (const GeneratedToken& token : text.tokens) ids.back().push_back(token.id);
    }
    return ids;
  };
  for (const std::int64_t beams : {1, 3}) {
    const auto both = written(prompts, beams);
    EXPECT_EQ(both[0], written({prompts[0]}, beams)[0]) << beams;
    EXPECT_EQ(both[1], written({prompts[1]}, beams)[0]) << beams;
  }
}

TEST(Qwen3_5, PackedAndSavedItIsTheSame) {
  const LoadedModel loaded = golden_model();
  const test::Scratch scratch;
  save_model(scratch / "saved", *loaded.model, nullptr, DType::kF32);
  const Tensor ids = test::random_ids({1, 7}, 61, 3);
  heed::Run run;
  const Tensor due = loaded.model->forward({.ids = ids}, run);
  EXPECT_TRUE(
      test::same_bits(load_model(scratch / "saved").model->forward({.ids = ids}, run), due));
  const LoadedModel packed = load_model(scratch / "saved", {.packed = true});
  EXPECT_LE(test::largest_difference(packed.model->forward({.ids = ids}, run), due), 1e-4);
}

TEST(Qwen3_5, ShowsTheHeadsOfLayersWithAttentionAlone) {
  const LoadedModel loaded = golden_model();
  const StackShape& stack = loaded.model->info().stacks.at(0);
  EXPECT_EQ(stack.layers, 4);
  EXPECT_EQ(stack.attending, (std::vector<int>{1}));
  const std::vector<TokenId> ids = {3, 17, 4, 9, 20};
  const Session session = open_session(loaded, ids, {.hidden = true, .streams = true});
  EXPECT_EQ(session.stacks[0].layers.size(), 4U);
  EXPECT_TRUE(session.at({Stack::kSelf, 1, 0}).is_kept());
  EXPECT_EQ(look(session, {}).chosen.layer, 1);
  for (const int layer : {0, 3})
    EXPECT_HEED_ERROR(session.at({Stack::kSelf, layer, 0}), ErrorCode::kNotFound,
                      "session: layer is " + std::to_string(layer) +
                          ", expected 1: the layers of qwen3_5 that have attention");
}

// In f32: the layer computes in no other type. Along its gradient g, a parameter changes the sum of
// the weighted logits by |g|^2 per step.
TEST(Qwen3_5, GradientsAreTheSlopesOfThePass) {
  const std::unique_ptr<Model> model =
      make_model(config(R"("full_attention_interval": 2, "linear_num_value_heads": 4)"), 1);
  test::sharpen(*model);
  const Tensor ids = test::random_ids({2, 70}, 11, 3);
  heed::Run run{.extents = {.query_length = {70, 66}, .key_length = {70, 66}}};
  const auto sum = [&](const Tensor& logits) {
    double total = 0;
    for (std::int64_t i = 0; i < logits.element_count(); ++i)
      total += logits.data<float>()[i] * std::sin(0.7 * static_cast<double>(i));
    return total;
  };
  Saved saved;
  heed::Run keeps = run;
  keeps.saved = &saved;
  Tensor dlogits = Tensor::empty(model->forward({.ids = ids}, keeps).shape());
  for (std::int64_t i = 0; i < dlogits.element_count(); ++i)
    dlogits.data<float>()[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
  Gradients gradients;
  model->backward(dlogits, {.ids = ids}, keeps, gradients);
  for (Parameter* parameter : model->parameters()) {
    const Tensor* const found = gradients.find(*parameter);
    ASSERT_NE(found, nullptr) << parameter->name;
    double squares = 0;
    for (std::int64_t i = 0; i < found->element_count(); ++i)
      squares += std::pow(static_cast<double>(found->data<float>()[i]), 2);
    ASSERT_GT(squares, 0) << parameter->name;
    const Tensor own = parameter->value.clone();
    const auto at = [&](double step) {
      for (std::int64_t i = 0; i < own.element_count(); ++i)
        parameter->value.data<float>()[i] =
            own.data<float>()[i] + static_cast<float>(step * found->data<float>()[i]);
      return sum(model->forward({.ids = ids}, run));
    };
    const double step = 1e-3 / std::sqrt(squares);
    const double slope = (at(step) - at(-step)) / (2 * step);
    at(0);
    EXPECT_NEAR(slope / squares, 1, 0.02) << parameter->name;
  }
}

TEST(Qwen3_5, ConfigurationsThatDoNotFitAreNamed) {
  const auto expect = [](const std::string& members, ErrorCode code, const std::string& message) {
    EXPECT_HEED_ERROR(make_model(config(members), 1), code, "config: line 5, " + message);
  };
  expect(R"("layer_types": ["linear_attention"])", ErrorCode::kCorrupt,
         "column 16: layer_types is a list of 1, expected 2 entries, one per layer");
  expect(R"("layer_types": ["linear_attention", "sliding_attention"])", ErrorCode::kUnsupported,
         "column 16: layer_types is 'sliding_attention' in layer 1, expected full_attention or "
         "linear_attention");
  expect(R"("layer_types": ["linear_attention", "linear_attention"])", ErrorCode::kUnsupported,
         "column 16: layer_types is 2 layers of linear attention, expected at least one layer with "
         "full attention");
  expect(R"("full_attention_interval": 2, "linear_num_value_heads": 3)", ErrorCode::kCorrupt,
         "column 57: linear_num_value_heads is 3, expected a multiple of linear_num_key_heads (2)");
  expect(R"("full_attention_interval": 2, "linear_conv_kernel_dim": 0)", ErrorCode::kCorrupt,
         "column 57: linear_conv_kernel_dim is 0, expected a whole number, 1 to 32768");
  expect(R"("full_attention_interval": 2, "is_causal": false)", ErrorCode::kUnsupported,
         "column 44: is_causal is false, expected true");
}

TEST(Qwen3_5, ATensorOfAnotherShapeIsNamed) {
  const test::Scratch scratch;
  const auto folder = scratch / "saved";
  const std::unique_ptr<Model> model = make_model(config(R"("full_attention_interval": 2)"), 1);
  for (Parameter* parameter : model->parameters())
    if (parameter->name.ends_with("conv1d.weight")) parameter->value = Tensor::zeros({12, 1, 4});
  save_model(folder, *model, nullptr, DType::kF32);
  EXPECT_HEED_ERROR(load_model(folder), ErrorCode::kCorrupt,
                    (folder / "model.safetensors").string() +
                        ": model.layers.0.linear_attn.conv1d.weight.shape is [12, 1, 4], expected "
                        "[144, 1, 4]");
}

}  // namespace
}  // namespace heed
