// Generation behind an encoder.
#include <gtest/gtest.h>

#include <vector>

#include "generate/letters.h"
#include "heed/generate.h"
#include "heed/model.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::ids_of;
using Ids = std::vector<TokenId>;

std::unique_ptr<Model> translator() {
  auto model = make_model(R"({"model_type": "blenderbot", "d_model": 16, "encoder_layers": 2,
    "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "vocab_size": 31, "max_position_embeddings": 12,
    "decoder_start_token_id": 1, "eos_token_id": 2})",
                          1);
  for (Parameter* parameter : model->parameters())  // far from the flat start
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      parameter->value.data<float>()[i] *= 20;
  return model;
}

Generated translated(const Model& model, const Ids& source, const Ids& prompt = {1}) {
  return generate(model, {.prompts = {prompt},
                          .sources = {source},
                          .most_tokens = 8,
                          .sampling = {.temperature = 0},
                          .stop_at_end = false})[0];
}

TEST(GenerateBehindAnEncoder, AnswersDependOnTheSource) {
  const auto model = translator();
  EXPECT_NE(ids_of(translated(*model, {5, 6, 7})), ids_of(translated(*model, {9, 20, 11, 4})));
}

TEST(GenerateBehindAnEncoder, EachTokenIsThatOfTheWholePass) {
  const auto model = translator();
  const Ids source = {5, 6, 7, 8};
  Ids text = {1};
  for (const TokenId id : ids_of(translated(*model, source))) {
    heed::Run run;
    run.last_position_only = true;
    const auto size = [](const Ids& ids) { return static_cast<std::int64_t>(ids.size()); };
    const Tensor logits =
        model->forward({.ids = ConstView(text.data(), DType::kI32, {1, size(text)}),
                        .source = ConstView(source.data(), DType::kI32, {1, size(source)})},
                       run);
    const float* row = logits.data<float>();
    EXPECT_EQ(id, std::max_element(row, row + 31) - row) << "behind " << text.size();
    text.push_back(id);
  }
}

TEST(GenerateBehindAnEncoder, ATextDoesNotDependOnWhatElseIsInTheBatch) {
  const auto model = translator();
  const std::vector<Ids> sources = {{5, 6, 7}, {9, 20, 11, 4, 8, 3}, {12}};
  const std::vector<Ids> prompts = {{1}, {1, 4}, {1}};
  const auto together = generate(*model, {.prompts = prompts,
                                          .sources = sources,
                                          .most_tokens = 8,
                                          .sampling = {.temperature = 0},
                                          .stop_at_end = false});
  for (std::size_t i = 0; i < sources.size(); ++i)
    EXPECT_EQ(ids_of(together[i]), ids_of(translated(*model, sources[i], prompts[i]))) << i;
}

TEST(GenerateBehindAnEncoder, WhatDoesNotFitIsNamed) {
  const auto model = translator();
  EXPECT_HEED_ERROR(generate(*model, {.prompts = {{1}}}), ErrorCode::kInvalidArgument,
                    "generate: sources is a list of 0, expected 1 entries, one per prompt");
  EXPECT_HEED_ERROR(translated(*model, Ids(13, 3)), ErrorCode::kInvalidArgument,
                    "generate: source is 13 tokens long, expected at most 12 (the model's "
                    "positions)");
  EXPECT_HEED_ERROR(translated(*model, {31}), ErrorCode::kInvalidArgument,
                    "generate: source token is 31, expected 0 to 30 (the vocabulary)");
  const auto encoder = make_model(R"({"model_type": "bert", "num_hidden_layers": 1,
    "num_attention_heads": 1, "hidden_size": 4, "intermediate_size": 4, "vocab_size": 5})",
                                  1);
  EXPECT_HEED_ERROR(
      generate(*encoder, {.prompts = {{1}}}), ErrorCode::kInvalidArgument,
      "generate: model is BERT, expected a decoder, which predicts next tokens; heed look "
      "fills an encoder's mask tokens");
}

}  // namespace
}  // namespace heed
