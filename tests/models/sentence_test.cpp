// Sentence vectors, by hand and against a published encoder.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "heed/model.h"
#include "io/atomic_file.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/random_tensor.h"
#include "support/scratch.h"
#include "support/shared_data.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTinyBert = R"({"model_type": "bert", "num_hidden_layers": 1,
  "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12, "vocab_size": 11,
  "max_position_embeddings": 8})";

using Texts = std::vector<std::vector<TokenId>>;

double length_of(const ConstView& vector) {
  double squares = 0;
  for (std::int64_t i = 0; i < vector.element_count(); ++i)
    squares += std::pow(vector.data<float>()[i], 2);
  return std::sqrt(squares);
}

TEST(SentenceVectors, AreOfLengthOneAndDoNotDependOnTheBatch) {
  const auto model = make_model(kTinyBert, 1);
  const Texts texts = {{1, 2, 3}, {4, 5, 6, 7, 8}};
  const Tensor both = sentence_vectors(*model, texts);
  const Tensor alone = sentence_vectors(*model, Texts{texts[0]});
  EXPECT_EQ(both.shape(), (Shape{2, 8}));
  EXPECT_NEAR(length_of(both.view().select(0, 1)), 1, 1e-6);
  EXPECT_LE(test::largest_difference(both.view().select(0, 0), alone.view().select(0, 0)), 1e-6);
}

TEST(SentenceVectors, OfOneTokenMeanAndFirstAreTheSame) {
  const auto model = make_model(kTinyBert, 1);
  const Texts text = {{4}};
  EXPECT_TRUE(test::same_bits(sentence_vectors(*model, text, {.kind = Pooling::Kind::kMean}),
                              sentence_vectors(*model, text, {.kind = Pooling::Kind::kFirst})));
  const Texts more = {{4, 5}};
  EXPECT_FALSE(test::same_bits(sentence_vectors(*model, more, {.kind = Pooling::Kind::kMean}),
                               sentence_vectors(*model, more, {.kind = Pooling::Kind::kFirst})));
}

TEST(SentenceVectors, ADecoderHasNone) {
  const auto model = make_model(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 4,
    "n_positions": 6, "vocab_size": 11})",
                                1);
  EXPECT_HEED_ERROR(sentence_vectors(*model, Texts{{1}}), ErrorCode::kInvalidArgument,
                    "sentence_vectors: model is GPT-2, expected an encoder");
}

TEST(Pooling, IsWhatTheFolderSays) {
  const test::Scratch scratch;
  EXPECT_EQ(read_pooling(scratch.folder()).kind, Pooling::Kind::kMean);
  fs::create_directories(scratch / "1_Pooling");
  write_file(scratch / "1_Pooling/config.json",
             R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  EXPECT_EQ(read_pooling(scratch.folder()).kind, Pooling::Kind::kFirst);
  EXPECT_FALSE(read_pooling(scratch.folder()).normalised);
  write_file(scratch / "modules.json", R"([
    {"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}])");
  EXPECT_TRUE(read_pooling(scratch.folder()).normalised);
  write_file(scratch / "1_Pooling/config.json", R"({"pooling_mode": "cls"})");
  EXPECT_EQ(read_pooling(scratch.folder()).kind, Pooling::Kind::kFirst);
}

TEST(Pooling, LiesWhereTheModulesSay) {
  const test::Scratch scratch;
  fs::create_directories(scratch / "pool");
  write_file(scratch / "pool/config.json", R"({"pooling_mode": "cls"})");
  write_file(scratch / "modules.json", R"([{"type": "a.Pooling", "path": "pool"}])");
  EXPECT_EQ(read_pooling(scratch.folder()).kind, Pooling::Kind::kFirst);
}

TEST(Pooling, WhatWouldChangeTheVectorsAndIsNotServedIsNamed) {
  const test::Scratch scratch;
  const fs::path modules = scratch / "modules.json";
  const auto refused = [&](const std::string& text, const std::string& found) {
    write_file(modules, text);
    EXPECT_HEED_ERROR(read_pooling(scratch.folder()), ErrorCode::kUnsupported,
                      modules.string() + ": line 1, column " + found +
                          ", expected Transformer, Pooling, Dense, Normalize, in this order");
  };
  refused(R"([{"type": "sentence_transformers.models.LayerNorm"}])",
          "2: type is 'sentence_transformers.models.LayerNorm'");
  refused(R"([{"type": "a.Normalize"}, {"type": "a.Dense"}])", "27: type is 'a.Dense'");
  refused(R"([{"type": "a.Pooling"}, {"type": "a.Pooling"}])", "25: type is 'a.Pooling'");
  write_file(modules, "[]");
  const fs::path prompts = scratch / "config_sentence_transformers.json";
  write_file(prompts, R"({"prompts": {"query": "q: "}, "default_prompt_name": null})");
  EXPECT_NO_THROW(read_pooling(scratch.folder()));
  write_file(prompts, R"({"default_prompt_name": "query"})");
  EXPECT_HEED_ERROR(read_pooling(scratch.folder()), ErrorCode::kUnsupported,
                    prompts.string() +
                        ": line 1, column 25: default_prompt_name is 'query', "
                        "expected none: prompts are not put before texts");
}

// A folder with two Dense modules: 2 -> 3 with tanh and a bias, 3 -> 1.
struct DenseFolder {
  DenseFolder() {
    write_file(scratch / "modules.json", R"([{"type": "a.Dense", "path": "2_Dense"},
      {"type": "a.Dense", "path": "3_Dense"}, {"type": "a.Normalize"}])");
    fs::create_directories(scratch / "2_Dense");
    fs::create_directories(scratch / "3_Dense");
    const std::vector<float> first = {1, 0, 0, 2, 1, 1}, bias = {0, 0, -1}, second = {1, 2, -1};
    const std::vector<NamedView> with_bias = {
        {"linear.weight", ConstView(first.data(), DType::kF32, {3, 2})},
        {"linear.bias", ConstView(bias.data(), DType::kF32, {3})}};
    const std::vector<NamedView> without = {
        {"linear.weight", ConstView(second.data(), DType::kF32, {1, 3})}};
    write_safetensors(scratch / "2_Dense/model.safetensors", with_bias);
    write_safetensors(scratch / "3_Dense/model.safetensors", without);
    write_file(scratch / "2_Dense/config.json", R"({"in_features": 2, "out_features": 3})");
    write_file(scratch / "3_Dense/config.json", R"({"in_features": 3, "out_features": 1,
      "bias": false, "activation_function": "torch.nn.modules.linear.Identity"})");
  }
  Pooling pooling() const { return read_pooling(scratch.folder()); }
  test::Scratch scratch;
};

TEST(Pooling, DenseModulesFollowIt) {
  const DenseFolder folder;
  Pooling pooling = folder.pooling();
  EXPECT_TRUE(pooling.normalised);
  pooling.normalised = false;
  const std::vector<float> states = {0.1F, 0.5F, 0.3F, 0.7F};  // the mean is 0.2, 0.6
  const std::vector<float> vector = pooled(ConstView(states.data(), DType::kF32, {2, 2}), pooling);
  ASSERT_EQ(vector.size(), 1U);
  EXPECT_NEAR(vector[0], std::tanh(0.2) + 2 * std::tanh(1.2) - std::tanh(-0.2), 1e-6);
  EXPECT_HEED_ERROR(pooled(ConstView(states.data(), DType::kF32, {1, 4}), pooling),
                    ErrorCode::kInvalidArgument,
                    "pooled: states is 4 wide, expected 2 wide, as a Dense module reads");
}

TEST(Pooling, ADenseModuleThatIsNotServedIsNamed) {
  const DenseFolder folder;
  const fs::path file = folder.scratch / "2_Dense/config.json";
  const auto refused = [&](const std::string& text, ErrorCode code, const std::string& message) {
    write_file(file, text);
    EXPECT_HEED_ERROR(folder.pooling(), code, message);
  };
  const std::string sizes = R"({"in_features": 2, "out_features": 3, )";
  refused(sizes + R"("activation_function": "torch.nn.modules.activation.Softmax"})",
          ErrorCode::kUnsupported,
          file.string() +
              ": line 1, column 62: activation_function is "
              "'torch.nn.modules.activation.Softmax', expected a class of torch.nn: "
              "Identity, Tanh, ReLU, GELU, SiLU, Sigmoid");
  refused(sizes + R"("module_input_name": "token_embeddings"})", ErrorCode::kUnsupported,
          file.string() +
              ": line 1, column 60: module_input_name is 'token_embeddings', expected "
              "sentence_embedding");
  refused(R"({"in_features": 2})", ErrorCode::kCorrupt,
          file.string() + ": out_features is missing, expected a number of features");
  refused(R"({"in_features": 2, "out_features": 1000000000})", ErrorCode::kCorrupt,
          (folder.scratch / "2_Dense/model.safetensors").string() +
              ": linear.weight.shape is [3, 2], expected [1000000000, 2]");
}

TEST(Pooling, AModeThatIsNotServedIsNamed) {
  const test::Scratch scratch;
  fs::create_directories(scratch / "1_Pooling");
  const fs::path file = scratch / "1_Pooling/config.json";
  const auto refused = [&](const std::string& text, const std::string& found) {
    write_file(file, text);
    EXPECT_HEED_ERROR(read_pooling(scratch.folder()), ErrorCode::kUnsupported,
                      file.string() + ": line 1, column " + found +
                          ", expected the mean of all tokens or the first one (cls) alone");
  };
  refused(R"({"pooling_mode_lasttoken": true})", "28: pooling_mode_lasttoken is true");
  refused(R"({"pooling_mode": "max"})", "18: pooling_mode is 'max'");
  refused(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})",
          "30: pooling_mode_mean_tokens is true, as is pooling_mode_cls_token");
}

// [CLS] is 1 and [SEP] is 2, around a token a letter from 3 on.
std::unique_ptr<Tokenizer> framed_letters(const test::Scratch& scratch) {
  write_file(scratch / "tokenizer.json", R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": {"type": "BertProcessing", "cls": ["C", 1], "sep": ["S", 2]},
    "decoder": null, "model": {"type": "WordLevel", "unk_token": "U",
    "vocab": {"U": 0, "C": 1, "S": 2, "a": 3, "b": 4, "c": 5, "d": 6}}})");
  return load_tokenizer(scratch.folder());
}

TEST(SentenceTokens, KeepWhatFramesThem) {
  const test::Scratch scratch;
  const auto tokenizer = framed_letters(scratch);
  const auto part = [&](SentencePart which) {
    return sentence_tokens(*tokenizer, "a b c d", which, 4).ids;
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(part(SentencePart::kFirst), (Ids{1, 3, 4, 2}));
  EXPECT_EQ(part(SentencePart::kLast), (Ids{1, 5, 6, 2}));
  EXPECT_EQ(part(SentencePart::kAll), (Ids{1, 3, 4, 5, 6, 2}));
  EXPECT_EQ(sentence_tokens(*tokenizer, "a b c d", SentencePart::kFirst, 4).whole, 6);
  EXPECT_EQ(sentence_tokens(*tokenizer, "a b", SentencePart::kFirst, 4).ids, (Ids{1, 3, 4, 2}));
}

TEST(SentenceTokens, AreAsManyAsTheFolderSays) {
  const test::Scratch scratch;
  LoadedModel model;
  model.folder = scratch.folder();
  model.model = make_model(kTinyBert, 1);
  EXPECT_EQ(most_sentence_tokens(model), 8);  // positions
  write_file(scratch / "tokenizer_config.json", R"({"model_max_length": 5})");
  EXPECT_EQ(most_sentence_tokens(model), 5);
  write_file(scratch / "tokenizer_config.json", R"({"model_max_length": 1e30})");
  EXPECT_EQ(most_sentence_tokens(model), 8);
  write_file(scratch / "sentence_bert_config.json", R"({"max_seq_length": 6})");
  EXPECT_EQ(most_sentence_tokens(model), 6);
  write_file(scratch / "sentence_bert_config.json", R"({"max_seq_length": null})");
  EXPECT_EQ(most_sentence_tokens(model), 8);
}

// HEED_MINILM is the folder of all-MiniLM-L6-v2.
TEST(SentenceVectors, OfMiniLmAreThePublishedOnes) {
  HEED_NEEDS_SHARED("models/minilm-golden.safetensors");
  const char* folder = std::getenv("HEED_MINILM");
  if (folder == nullptr) GTEST_SKIP() << "HEED_MINILM names no folder";
  const LoadedModel loaded = load_model(folder, {.tokenizers = false});
  const Safetensors golden =
      Safetensors::open(test::shared_data() / "models/minilm-golden.safetensors");
  const Tensor ids = test::ids_of(golden, "sentences.input_ids");
  const Tensor mask = test::ids_of(golden, "sentences.attention_mask");
  Texts texts(static_cast<std::size_t>(ids.dim(0)));
  for (std::int64_t i = 0; i < ids.element_count(); ++i)
    if (mask.data<std::int32_t>()[i] == 1)
      texts[static_cast<std::size_t>(i / ids.dim(1))].push_back(ids.data<TokenId>()[i]);
  EXPECT_LE(test::largest_difference(sentence_vectors(*loaded.model, texts),
                                     golden.tensor("sentences.embeddings")),
            2e-5);
  EXPECT_TRUE(read_pooling(folder).normalised);
}

// The attention of a pair of sentences, whose types are given.
TEST(Bert, AttentionOfAPairInMiniLmIsThePublishedOne) {
  HEED_NEEDS_SHARED("models/minilm-golden.safetensors");
  const char* folder = std::getenv("HEED_MINILM");
  if (folder == nullptr) GTEST_SKIP() << "HEED_MINILM names no folder";
  const LoadedModel loaded = load_model(folder, {.tokenizers = false});
  const Safetensors golden =
      Safetensors::open(test::shared_data() / "models/minilm-golden.safetensors");
  const Tensor ids = test::ids_of(golden, "pair.input_ids");
  const Tensor types = test::ids_of(golden, "pair.token_type_ids");
  test::GoldenTap tap;
  heed::Run run;
  run.tap = &tap;
  const Tensor last = loaded.model->forward({.ids = ids, .types = types}, run);
  EXPECT_FALSE(loaded.model->info().has_logits);
  EXPECT_LE(test::largest_difference(last, golden.tensor("pair.last_hidden_state")), 2e-5);
  for (const std::size_t layer : {0U, 3U, 5U})
    EXPECT_LE(test::largest_difference(tap.weights[layer],
                                       golden.tensor("pair.attentions." + std::to_string(layer))),
              2e-5);
}

}  // namespace
}  // namespace heed
