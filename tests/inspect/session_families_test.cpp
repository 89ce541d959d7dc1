// Sessions of models other than a single decoder.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "heed/generate.h"
#include "heed/look.h"
#include "heed/model.h"
#include "heed/session.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/places.h"
#include "support/scratch.h"

namespace heed {
namespace {

LoadedModel loaded(const std::string& config) {
  return {.name = "tiny", .folder = {}, .model = make_model(config, 1), .tokenizer = nullptr};
}

LoadedModel translator() {
  return loaded(R"({"model_type": "marian", "d_model": 8, "encoder_layers": 2, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 4, "encoder_ffn_dim": 12,
    "decoder_ffn_dim": 12, "vocab_size": 11, "max_position_embeddings": 9,
    "decoder_start_token_id": 10, "eos_token_id": 0})");
}

LoadedModel encoder() {
  return loaded(R"({"model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 2,
    "hidden_size": 8, "intermediate_size": 12, "vocab_size": 11, "max_position_embeddings": 8})");
}

const std::vector<TokenId> kSource = {3, 4, 5, 6, 7};
const std::vector<TokenId> kTarget = {1, 2};

Session translated(const LoadedModel& model) {
  Session session = tokenize_session(model, kSource, std::span<const TokenId>(kTarget));
  run_session(session, model);
  return session;
}

TEST(TranslatorSession, HasThreeStacksWithTheirOwnSides) {
  const LoadedModel model = translator();
  const Session session = translated(model);
  ASSERT_EQ(session.stacks.size(), 3U);
  const auto size_of = [&](Stack stack) { return session.at({.stack = stack}).size(); };
  EXPECT_EQ(size_of(Stack::kEncoder).queries, 5);
  EXPECT_EQ(size_of(Stack::kEncoder).keys, 5);
  EXPECT_EQ(size_of(Stack::kDecoder).queries, 3);  // the first token and the target
  EXPECT_EQ(size_of(Stack::kDecoder).keys, 3);
  EXPECT_EQ(size_of(Stack::kCross).queries, 3);
  EXPECT_EQ(size_of(Stack::kCross).keys, 5);
  EXPECT_EQ(session.at(Stack::kEncoder).layers.size(), 2U);
  EXPECT_EQ(session.queries(Stack::kCross).front().id, 10);
  EXPECT_EQ(session.keys(Stack::kCross).front().id, 3);
  EXPECT_EQ(session.queries(Stack::kEncoder).back().id, 7);
}

TEST(TranslatorSession, EveryRowOfTheCrossAttentionSumsToOne) {
  const LoadedModel model = translator();
  const Session session = translated(model);
  int rows = 0;
  visit_rows(session.at({.stack = Stack::kCross}), {},
             [&](std::int64_t, std::int64_t, std::span<const float> weights) {
               double sum = 0;
               for (const float weight : weights) sum += weight;
               EXPECT_NEAR(sum, 1, 1e-5);
               EXPECT_EQ(weights.size(), 5U);
               ++rows;
             });
  EXPECT_EQ(rows, 4 * 3);
}

TEST(TranslatorSession, WithoutATargetTheModelWritesOne) {
  const LoadedModel model = translator();
  Session session = tokenize_session(model, kSource);
  EXPECT_GE(session.tokens.size(), 1U);
  EXPECT_LE(session.tokens.size(), 9U);
  EXPECT_EQ(session.tokens.front().id, 10);
  run_session(session, model);
  // Its output is what it finds likeliest.
  Session given = tokenize_session(model, kSource, std::span<const TokenId>());
  run_session(given, model);
  const NextWords next = next_words(given, 1);
  EXPECT_HEED_ERROR(next_words(given, -1), ErrorCode::kInvalidArgument,
                    "next_words: top is -1, expected 0 or more");
  if (session.tokens.size() > 1) {
    EXPECT_EQ(session.tokens[1].id, next.words[0].id);
  } else {
    EXPECT_EQ(next.words[0].id, 0);
  }
}

TEST(TranslatorSession, WhatItWritesIsAsTheFolderSays) {
  const test::Scratch scratch;
  LoadedModel model = translator();
  model.folder = scratch.folder();
  const auto written = [&](const char* file) {
    write_file(scratch / "generation_config.json", file);
    std::vector<TokenId> ids;
    for (const SessionToken& token : tokenize_session(model, kSource).tokens)
      ids.push_back(token.id);
    return ids;
  };
  const auto generated = [&](GenerateArgs args) {
    args.prompts = {{10}};
    args.sources = {kSource};
    args.most_tokens = 8;
    std::vector<TokenId> ids = args.prompts[0];
    const std::vector<Generated> texts = generate(*model.model, args);
    for (const GeneratedToken& token : texts[0].tokens)
      if (token.id != 0) ids.push_back(token.id);
    return ids;
  };
  EXPECT_EQ(written("{}"), generated({.sampling = {.temperature = 0}}));
  EXPECT_EQ(written(R"({"num_beams": 3, "no_repeat_ngram_size": 2, "forced_bos_token_id": 7})"),
            generated({.rules = {.no_repeat_ngram = 2, .forced_first = 7}, .beams = 3}));
  EXPECT_EQ(written(R"({"do_sample": true, "temperature": 2.0})"),
            generated({.sampling = {.temperature = 2}}));
  EXPECT_EQ(written(R"({"temperature": 2.0})"), written("{}"));  // greedy, as in transformers
}

TEST(TranslatorSession, AStackIsChosenByName) {
  const LoadedModel model = translator();
  const Session session = translated(model);
  EXPECT_EQ(look(session, {}).chosen.stack, Stack::kEncoder);
  const Look cross = look(session, {.stack = Stack::kCross});
  EXPECT_EQ(cross.chosen.stack, Stack::kCross);
  EXPECT_EQ(cross.rows.size(), 3U);
  EXPECT_EQ(cross.key_tokens.size(), 5U);
  EXPECT_HEED_ERROR(look(session, {.stack = Stack::kSelf}), ErrorCode::kNotFound,
                    "session: stack is self, expected encoder, decoder, cross (tiny has no other)");
}

TEST(TranslatorSession, ASourceThatIsTooLongIsNamed) {
  const LoadedModel model = translator();
  EXPECT_HEED_ERROR(tokenize_session(model, std::vector<TokenId>(10, 3)),
                    ErrorCode::kInvalidArgument,
                    "session: input is 10 tokens, expected at most 9 (tiny's positions)");
  EXPECT_HEED_ERROR(tokenize_session(model, std::vector<TokenId>{11}), ErrorCode::kInvalidArgument,
                    "session: ids is 11, expected 0 to 10 (tiny's vocabulary)");
}

// T5's bias is a number a distance, not one a cell.
TEST(TranslatorSession, ABiasByDistanceIsKeptInMemoryThatIsLinear) {
  const LoadedModel model =
      load_model(std::filesystem::path(HEED_SOURCE_DIR) / "tests/models/golden/t5");
  const std::vector<TokenId> ids(50, 3);
  const Session session = open_session(model, ids);
  for (const SessionStack& stack : session.stacks)
    for (const LayerAttention& layer : stack.layers) {
      if (stack.shape.stack == Stack::kCross) {
        EXPECT_FALSE(layer.bias.given());
        continue;
      }
      EXPECT_EQ(layer.bias.element_count(),
                stack.shape.heads * (layer.queries() + layer.keys() - 1));
      EXPECT_EQ(layer.scores.bias.shape(),
                (Shape{1, stack.shape.heads, layer.queries(), layer.keys()}));
    }
}

TEST(EncoderSession, SeesBothWaysAndPredictsNoNextWord) {
  const LoadedModel model = encoder();
  const Session session = open_session(model, kSource);
  const Look answer = look(session, {.layer = 0, .head = 0, .top = -1});
  EXPECT_EQ(answer.rows.at(0).attends.size(), 5U);
  EXPECT_TRUE(answer.next.words.empty());
}

TEST(HeadProbe, OfAnEncoderHasNoLoss) {
  for (const auto make : {encoder, translator}) {
    const LoadedModel model = make();
    const Probe probe = probe_heads(model, {.sequences = 2});
    EXPECT_EQ(probe.heads.size(), 4U);
    EXPECT_EQ(probe.loss_first, 0);
  }
}

}  // namespace
}  // namespace heed
