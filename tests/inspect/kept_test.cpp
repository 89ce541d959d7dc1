// What a session keeps: some layers, in half of the memory, and no more than fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"
#include "inspect/choice.h"
#include "inspect/edited_session.h"
#include "inspect/models.h"
#include "inspect/session/places.h"
#include "inspect/session/session_memory.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "tensor/memory.h"

namespace heed {
namespace {

constexpr const char* kText = "The king had a daughter, and he loved her.";

Session session_of(const LoadedModel& model, const KeptAttention& keep) {
  Session session = tokenize_session(model, kText);
  session.keep = keep;
  run_session(session, model);
  return session;
}

// [H, Tq, Tk], 0 where hidden.
std::vector<float> weights_of(const LayerAttention& layer) {
  std::vector<float> weights;
  visit_rows(layer, {}, [&](std::int64_t, std::int64_t, std::span<const float> row) {
    weights.insert(weights.end(), row.begin(), row.end());
  });
  return weights;
}

TEST(KeptLayers, AreThoseOfTheWholePass) {
  const Session whole = session_of(test::tales(), {});
  const Session some = session_of(test::tales(), {.layers = {{1, 3}}});
  for (const int layer : {1, 3})
    EXPECT_EQ(weights_of(some.at({.layer = layer})), weights_of(whole.at({.layer = layer})));
  EXPECT_EQ(test::largest_difference(some.logits, whole.logits), 0);
}

TEST(KeptLayers, HaveTheOnlyScores) {
  const Session some = session_of(test::tales(), {.layers = {{1, 3}}});
  std::vector<int> scored;
  for (const HeadScores& head : score_heads(some))
    if (scored.empty() || scored.back() != head.place.layer) scored.push_back(head.place.layer);
  EXPECT_EQ(scored, (std::vector<int>{1, 3}));
  EXPECT_NE(look(some, {}).chosen.layer, 0);
}

TEST(KeptLayers, OtherLayersAreAnError) {
  const Session some = session_of(test::tales(), {.layers = {{1, 2, 4}}});
  const char* const message = "session: layer is 3, expected 1 to 2, 4: the layers that were kept";
  EXPECT_HEED_ERROR(some.at({.layer = 3}), ErrorCode::kNotFound, message);
  EXPECT_HEED_ERROR(look(some, {.layer = 3}), ErrorCode::kNotFound,
                    "look: layer is 3, expected 1 to 2, 4: the layers that were kept");
  EXPECT_HEED_ERROR(choose_head_of_keys(some, std::vector<std::int64_t>{1}, {}, 0, {}),
                    ErrorCode::kNotFound,
                    "look: layer is 0, expected 1 to 2, 4: the layers that were kept");
}

TEST(KeptLayers, AreThoseOfAnEditedSessionToo) {
  const Session some = session_of(test::tales(), {.layers = {{1}}});
  const Session edited =
      test::edited_session(some, {.ablate = {{.layer = 0, .head = 1}}}, test::tales());
  EXPECT_TRUE(edited.at({.layer = 1}).is_kept());
  EXPECT_FALSE(edited.stacks[0].layers[0].is_kept());
}

TEST(KeptLayers, ThatTheModelDoesNotHaveAreAnError) {
  EXPECT_HEED_ERROR(session_of(test::tales(), {.layers = {{0, 6}}}), ErrorCode::kNotFound,
                    "session: keep_layers is 6, expected 0 to 5 (tales has 6 layers)");
  EXPECT_HEED_ERROR(session_of(test::tales(), {.layers = std::vector<int>()}),
                    ErrorCode::kInvalidArgument,
                    "session: keep_layers is empty, expected different layers, ascending");
}

TEST(KeptLayers, AreReadAsRanges) {
  EXPECT_EQ(read_layers("8-12"), (std::vector<int>{8, 9, 10, 11, 12}));
  EXPECT_EQ(read_layers("3,0-1,1"), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(layers_text(read_layers("0,8-12,14")), "0, 8 to 12, 14");
  for (const char* text : {"", "8-", "-3", "12-8", "1,,2", "1-2-3", "99999999"})
    EXPECT_HEED_ERROR(
        read_layers(text), ErrorCode::kInvalidArgument,
        std::string("session: keep_layers is \"") + text + "\", expected layers as 8-12 or 0,8-12");
}

TEST(KeptAsF16, WeightsAreWithinTheBound) {
  const Session whole = session_of(test::tales(), {});
  const Session half = session_of(test::tales(), {.dtype = DType::kF16});
  double used = 0;  // of the bound
  for (int layer = 0; layer < 6; ++layer) {
    const LayerAttention& kept = half.at({.layer = layer});
    ASSERT_EQ(kept.q.dtype(), DType::kF16);
    ASSERT_GT(kept.score_error, 0);
    const std::vector<float> exact = weights_of(whole.at({.layer = layer}));
    const std::vector<float> found = weights_of(kept);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t at = 0; at < exact.size(); ++at) {
      if (exact[at] < 1e-30F) continue;  // hidden
      const double change = std::abs(std::log(double{found[at]} / double{exact[at]}));
      EXPECT_LE(change, 2 * kept.score_error) << layer;
      used = std::max(used, change / (2 * kept.score_error));
    }
  }
  EXPECT_GT(used, 0.01);  // the bound says something
  EXPECT_GT(half.score_error(), 0);
  EXPECT_EQ(whole.score_error(), 0);
}

TEST(KeptAsF16, RowsSumToOne) {
  const Session half = session_of(test::tales(), {.dtype = DType::kF16});
  visit_rows(half.at({.layer = 2}), {}, [](std::int64_t, std::int64_t, std::span<const float> row) {
    double sum = 0;
    for (const float weight : row) sum += double{weight};
    EXPECT_NEAR(sum, 1, 1e-5);
  });
}

TEST(KeptAsF16, NumbersBeyondF16AreAnError) {
  LoadedModel model = test::tiny(1);
  for (Parameter* parameter : model.model->parameters())
    if (parameter->name == "transformer.h.0.attn.c_attn.bias")
      parameter->value.data<float>()[32] = 1e5F;  // of the values
  Session session = tokenize_session(model, std::vector<TokenId>{1, 2, 3});
  session.keep.dtype = DType::kF16;
  try {
    run_session(session, model);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(error.argument(), "keep");
    EXPECT_EQ(error.expected(), "f32: f16 ends at 65504");
    EXPECT_EQ(error.found().substr(0, 38), "f16 for v of layer 0, which has 100000")
        << error.what();
  }
}

TEST(KeptAsF16, OtherTypesAreAnError) {
  EXPECT_HEED_ERROR(session_of(test::tales(), {.dtype = DType::kBF16}), ErrorCode::kInvalidArgument,
                    "session: keep is bf16, expected f32 or f16");
}

// Of everything that a session holds.
std::int64_t held_bytes(const Session& session) {
  std::int64_t bytes = 0;
  const auto add = [&](const Tensor& tensor) {
    if (tensor.given())
      bytes += tensor.element_count() * static_cast<std::int64_t>(size_bytes(tensor.dtype()));
  };
  for (const SessionStack& stack : session.stacks)
    for (const LayerAttention& layer : stack.layers)
      for (const Tensor* tensor :
           {&layer.q, &layer.k, &layer.v, &layer.lse, &layer.lse_low, &layer.write_lengths})
        add(*tensor);
  for (const StreamLevel& level : session.streams) add(level.value);
  add(session.hidden);
  add(session.logits);
  return bytes;
}

constexpr const char* kShapes[] = {
    R"({"model_type": "gpt2", "n_positions": 512, "n_embd": 128, "n_layer": 3, "n_head": 4,
        "vocab_size": 600})",
    R"({"model_type": "llama", "max_position_embeddings": 512, "hidden_size": 128,
        "intermediate_size": 384, "num_hidden_layers": 3, "num_attention_heads": 8,
        "num_key_value_heads": 2, "vocab_size": 600})",
    R"({"model_type": "gpt_neox", "max_position_embeddings": 512, "hidden_size": 128,
        "intermediate_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8,
        "vocab_size": 600})",
    R"({"model_type": "bert", "max_position_embeddings": 512, "hidden_size": 128,
        "intermediate_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8,
        "vocab_size": 600})",
};

TEST(SessionMemory, BoundsWhatAPassTakes) {
  for (const char* shape : kShapes)
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      LoadedModel model{.name = "m", .folder = {}, .model = make_model(shape, 1), .tokenizer = {}};
      Session session = tokenize_session(model, std::vector<TokenId>(400, 7));
      session.keep.dtype = dtype;
      const SessionOptions options = {.all_logits = true, .streams = true};
      const SessionMemory need = session_memory(session, model, options);
      const KeepBlocks counts;
      const std::int64_t before = most_tensor_bytes();
      run_session(session, model, options);
      const std::int64_t taken = most_tensor_bytes() - before;
      EXPECT_LE(taken, need.streamed()) << shape;
      EXPECT_GE(2 * taken, need.streamed()) << shape;
      // Two numbers a head and query are statistics, which come later.
      std::int64_t statistics = 0;
      for (const StackShape& each : session.shapes())
        statistics += std::int64_t{each.layers} * each.heads * 400 * 8;
      EXPECT_EQ(held_bytes(session), need.kept - statistics) << shape;
    }
}

TEST(SessionMemory, WhatDoesNotFitIsRefusedBeforeItIsTaken) {
  const LoadedModel model{
      .name = "m", .folder = {}, .model = make_model(kShapes[0], 1), .tokenizer = {}};
  Session session = tokenize_session(model, std::vector<TokenId>(400, 7));
  const SessionOptions options = {.memory = std::int64_t{3} << 20};
  try {
    run_session(session, model, options);
    ADD_FAILURE();
  } catch (const TooLittleMemory& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFailed);
    EXPECT_STREQ(error.what(),
                 "session: memory is 3 MiB, expected at least 4.98 MiB for 400 tokens: 1.85 MiB "
                 "kept and 3.13 MiB for the pass; what would fit: a text of 241 tokens");
  }
  EXPECT_TRUE(session.stacks[0].layers.empty());
  run_session(session, model, {.memory = std::int64_t{6} << 20});
}

TEST(SessionMemory, NamesEachChangeThatWouldFit) {
  const LoadedModel model{
      .name = "m", .folder = {}, .model = make_model(kShapes[0], 1), .tokenizer = {}};
  const Session session = tokenize_session(model, std::vector<TokenId>(400, 7));
  const SessionMemory need = session_memory(session, model, {});
  try {
    require_memory(session, model, {.memory = need.streamed() - 1});
    ADD_FAILURE();
  } catch (const TooLittleMemory& error) {
    EXPECT_EQ(error.hint(),
              "what would fit: q, k and v kept as f16; or 2 layers kept; or a text of 399 tokens");
  }
  require_memory(session, model, {.memory = need.streamed()});
}

TEST(SessionMemory, SizesAreReadAndWritten) {
  EXPECT_EQ(read_bytes("6G"), std::int64_t{6} << 30);
  EXPECT_EQ(read_bytes("1.5M"), 3 << 19);
  EXPECT_EQ(bytes_text(std::int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(bytes_text(1 << 20), "1 MiB");
  for (const char* text : {"", "6", "G", "-1G", "6g", "nanG"})
    EXPECT_HEED_ERROR(
        read_bytes(text), ErrorCode::kInvalidArgument,
        std::string("session: memory is \"") + text + "\", expected a size as 6G or 512M");
}

}  // namespace
}  // namespace heed
