// GGUF files as models: each family is written under its architecture's names, and read back with
// the same numbers.
#include "models/gguf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "io/atomic_file.h"
#include "models/gguf_architecture.h"
#include "support/expect_error.h"
#include "support/gguf_writer.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using test::GgufWriter;

constexpr std::int64_t kWords = 11;

// The keys that all decoders with rotary positions have.
GgufWriter rotary_keys(const std::string& name) {
  GgufWriter writer;
  writer.key("general.architecture", name.c_str())
      .key(name + ".context_length", 32U)
      .key(name + ".embedding_length", 16U)
      .key(name + ".feed_forward_length", 24U)
      .key(name + ".block_count", 2U)
      .key(name + ".attention.head_count", 4U)
      .key(name + ".attention.head_count_kv", 2U)
      .key(name + ".attention.key_length", 8U)
      .key(name + ".attention.value_length", 8U)
      .key(name + ".rope.freq_base", 500.0F)
      .key(name + ".attention.layer_norm_rms_epsilon", 1e-5F);
  return writer;
}

std::string rotary_config(const std::string& model_type) {
  return R"({"model_type": ")" + model_type +
         R"(", "vocab_size": 11, "max_position_embeddings": 32, "hidden_size": 16,
    "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "query_pre_attn_scalar": 8, "rms_norm_eps": 1e-5, "rope_theta": 500.0, "tie_word_embeddings": true})";
}

// The tensor as llama.cpp stores it, made here from the hub's by the rule of its converter.
Tensor stored_as(const Tensor& hub, GgufChange change) {
  if (change == GgufChange::kTransposed && hub.rank() == 2)
    return Tensor::copy_of(hub.view().permute({1, 0}));
  Tensor tensor = hub.clone();
  if (change == GgufChange::kLessOne)
    for (std::int64_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] += 1;
  if (change == GgufChange::kQueryRows || change == GgufChange::kKeyRows) {
    const std::int64_t heads = change == GgufChange::kQueryRows ? 4 : 2;
    const std::int64_t pairs = hub.dim(0) / heads / 2, width = hub.element_count() / hub.dim(0);
    // [heads, 2, pairs, width] becomes [heads, pairs, 2, width].
    const ConstView rows = hub.view().reshape({heads, 2, pairs, width});
    tensor = Tensor::copy_of(rows.permute({0, 2, 1, 3}));
  }
  return tensor;
}

// Adds the model's parameters under the architecture's names.
void add_parameters(GgufWriter& writer, const Model& model) {
  const Config config = Config::parse(model.config_json(), "config");
  const std::vector<GgufName> names = gguf_names(gguf_architecture(config), config);
  for (const Parameter* parameter : model.parameters()) {
    const auto stored = renamed(names, parameter->name, &GgufName::hub, &GgufName::stored);
    if (stored.empty()) {
      ADD_FAILURE() << parameter->name;
      continue;
    }
    const auto& [name, change, rows] = stored.front();
    const Tensor tensor = stored_as(parameter->value, change);
    std::vector<std::uint64_t> shape(parameter->value.shape().begin(),
                                     parameter->value.shape().end());
    if (change == GgufChange::kTransposed) std::ranges::reverse(shape);
    writer.tensor(name, shape,
                  {tensor.data<float>(), static_cast<std::size_t>(tensor.element_count())});
  }
}

Tensor logits_of(const Model& model) {
  heed::Run run;
  const Tensor ids = test::random_ids({2, 9}, kWords, 1);
  return model.forward({.ids = ids}, run);
}

// Gemma's norms lose a rounding to the 1 that the file adds.
void expect_same(const Model& model, const fs::path& file, double tolerance) {
  const LoadedModel loaded = load_model(file);
  EXPECT_EQ(loaded.model->info().family, model.info().family);
  EXPECT_LE(test::largest_difference(logits_of(*loaded.model), logits_of(model)), tolerance)
      << file;
  EXPECT_EQ(why_not_loaded(file), "it has no tokenizer, so only token ids can be read");
}

TEST(GgufModel, DecodersWithRotaryPositionsAreTheSame) {
  const test::Scratch scratch;
  for (const std::string name : {"llama", "qwen2", "qwen3", "gemma2"}) {
    const auto model = make_model(rotary_config(name), 3);
    GgufWriter writer = rotary_keys(name);
    add_parameters(writer, *model);
    write_file(scratch / (name + ".gguf"), writer.file());
    expect_same(*model, scratch / (name + ".gguf"), name == "gemma2" ? 1e-5 : 0);
  }
}

// llama.cpp writes q, k and v as one tensor where it is asked to, as it did for Phi 2.
TEST(GgufModel, OneTensorOfQueriesKeysAndValuesIsReadAsThree) {
  const test::Scratch scratch;
  const auto model = make_model(rotary_config("llama"), 3);
  GgufWriter writer = rotary_keys("llama");
  std::map<std::string, Tensor> parts;
  const Config config = Config::parse(model->config_json(), "config");
  const std::vector<GgufName> names = gguf_names(gguf_architecture(config), config);
  for (const Parameter* parameter : model->parameters()) {
    for (const auto& [name, change, rows] :
         renamed(names, parameter->name, &GgufName::hub, &GgufName::stored))
      parts.emplace(name, stored_as(parameter->value, change));
  }
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    std::vector<float> rows;
    for (const char* part : {"attn_q.weight", "attn_k.weight", "attn_v.weight"}) {
      const Tensor& own = parts.at(layer + part);
      rows.insert(rows.end(), own.data<float>(), own.data<float>() + own.element_count());
      parts.erase(layer + part);
    }
    writer.tensor(layer + "attn_qkv.weight", {rows.size() / 16, 16}, rows);
  }
  for (const auto& [name, tensor] : parts)
    writer.tensor(name, {tensor.shape().begin(), tensor.shape().end()},
                  {tensor.data<float>(), static_cast<std::size_t>(tensor.element_count())});
  write_file(scratch / "m.gguf", writer.file());
  expect_same(*model, scratch / "m.gguf", 0);
}

TEST(GgufModel, Gpt2IsTheSame) {
  const test::Scratch scratch;
  const auto model =
      make_model(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 16, "n_inner": 24,
    "n_positions": 32, "vocab_size": 11, "bos_token_id": null, "eos_token_id": null})",
                 3);
  GgufWriter writer;
  writer.key("general.architecture", "gpt2")
      .key("gpt2.embedding_length", 16U)
      .key("gpt2.feed_forward_length", 24U)
      .key("gpt2.block_count", 2U)
      .key("gpt2.attention.head_count", 4U)
      .key("gpt2.attention.layer_norm_epsilon", 1e-5F);
  add_parameters(writer, *model);
  write_file(scratch / "gpt2.gguf", writer.file());
  expect_same(*model, scratch / "gpt2.gguf", 0);
}

GgufWriter llama() {
  const auto model = make_model(rotary_config("llama"), 3);
  GgufWriter writer = rotary_keys("llama");
  add_parameters(writer, *model);
  return writer;
}

// A folder with one such file is the model; of several one has to be named.
TEST(GgufModel, IsFoundByItsFolderAndItsPath) {
  const test::Scratch scratch;
  write_file(scratch / "tiny.gguf", llama().file());
  EXPECT_EQ(find_model(scratch.folder().string()), scratch / "tiny.gguf");
  EXPECT_EQ(find_model((scratch / "tiny.gguf").string()), scratch / "tiny.gguf");
  const ModelSummary summary = describe_model(scratch / "tiny.gguf").value_or(ModelSummary{});
  EXPECT_EQ(summary.info.kv_heads, 2);
  EXPECT_EQ(summary.parameters, parameter_count(*make_model(rotary_config("llama"), 3)));
}

class Home : public testing::Test {
 protected:
  void SetUp() override {
    const char* home = std::getenv("HOME");
    old_ = home == nullptr ? "" : home;
    ::setenv("HOME", scratch_.folder().c_str(), 1);
  }
  void TearDown() override { ::setenv("HOME", old_.c_str(), 1); }

  // The model of that name, or why there is none.
  static std::string found(const std::string& name) {
    for (const FoundModel& model : list_models())
      if (model.name == name)
        return find_model(name) == model.folder ? model.folder.string() : "found elsewhere";
    return "not listed";
  }
  static std::string refusal_of(const std::string& name) {
    try {
      find_model(name);
    } catch (const Error& error) {
      return error.what();
    }
    return "found";
  }

  test::Scratch scratch_;
  std::string old_;
};

TEST_F(Home, OllamasModelsHaveTheirNames) {
  const fs::path store = scratch_ / ".ollama/models";
  const fs::path manifests = store / "manifests/registry.ollama.ai";
  fs::create_directories(store / "blobs");
  fs::create_directories(manifests / "library/tiny");
  fs::create_directories(manifests / "somebody/other");
  fs::create_directories(store / "manifests/hf.co/owner/other-GGUF");
  write_file(store / "blobs/sha256-12", llama().file());
  const std::string manifest =
      R"({"layers": [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:11"},
    {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:12"}]})";
  write_file(manifests / "library/tiny/1b", manifest);
  write_file(manifests / "somebody/other/latest", manifest);
  write_file(store / "manifests/hf.co/owner/other-GGUF/Q4_0", manifest);
  write_file(manifests / "library/tiny/broken", "{");
  write_file(manifests / "library/tiny/gone",
             R"({"layers": [{"mediaType": "x.image.model", "digest": "sha256:13"}]})");
  write_file(manifests / "library/tiny/outside",
             R"({"layers": [{"mediaType": "x.image.model", "digest": "../../secret"}]})");
  EXPECT_EQ(find_model("ollama:tiny:1b"), store / "blobs/sha256-12");
  EXPECT_EQ(find_model("ollama:somebody/other:latest"), store / "blobs/sha256-12");
  EXPECT_EQ(find_model("ollama:somebody/other"), store / "blobs/sha256-12");
  EXPECT_EQ(find_model("ollama:hf.co/owner/other-GGUF:Q4_0"), store / "blobs/sha256-12");
  EXPECT_EQ(refusal_of("ollama:tiny:gone"),
            (store / "blobs/sha256-13").string() +
                ": no such file, expected the weights that the manifest of ollama:tiny:gone names");
  EXPECT_EQ(why_not_loaded(store / "blobs/sha256-13"),
            (store / "blobs/sha256-13").string() + " does not exist");
  EXPECT_EQ(found("ollama:tiny:outside"), manifests / "library/tiny/outside");
  for (const fs::path& unusable :
       {manifests / "library/tiny/outside", manifests / "library/tiny/broken"})
    EXPECT_EQ(why_not_loaded(unusable),
              unusable.string() + " is not GGUF, nor does it name such a file");
  EXPECT_THAT(load_model(store / "blobs/sha256-12").name, testing::StartsWith("ollama:"));
}

TEST_F(Home, StoresOfOtherRunnersAreLookedThrough) {
  const std::string file = llama().file();
  const fs::path studio = scratch_ / ".lmstudio/models/publisher";
  const fs::path hub = scratch_ / ".cache/huggingface/hub/models--owner--many/snapshots/abc";
  for (const fs::path& folder :
       {studio / "one", studio / "many", hub, scratch_ / ".cache/llama.cpp"})
    fs::create_directories(folder);
  for (const fs::path& path :
       {studio / "one/m.gguf", studio / "many/q4.gguf", studio / "many/q8.gguf", hub / "q4.gguf",
        hub / "q8.gguf", scratch_ / ".cache/llama.cpp/small.gguf"})
    write_file(path, file);
  write_file(studio / "one/mmproj-m-f16.gguf", file);
  write_file(studio / "many/later-00002-of-00002.gguf", file);
  write_file(studio / "many/no.gguf", "something else");
  EXPECT_EQ(found("publisher/one"), studio / "one/m.gguf");
  EXPECT_EQ(found("publisher/many/q8.gguf"), studio / "many/q8.gguf");
  EXPECT_EQ(found("publisher/many/later-00002-of-00002.gguf"), "not listed");
  EXPECT_EQ(found("publisher/many/no.gguf"), "not listed");
  EXPECT_EQ(found("owner/many/q4.gguf"), hub / "q4.gguf");
  EXPECT_EQ(found("small.gguf"), scratch_ / ".cache/llama.cpp/small.gguf");
  EXPECT_HEED_ERROR(find_model("publisher/many"), ErrorCode::kNotFound,
                    "model is 'publisher/many', which has several models, expected one of "
                    "publisher/many/q4.gguf, publisher/many/q8.gguf");
}

TEST(GgufModel, FrequenciesOfLlama3AreReadFromTheirTensor) {
  const test::Scratch scratch;
  GgufWriter writer = rotary_keys("llama");
  const std::vector<float> words(11 * 16);
  writer.tensor("token_embd.weight", {11, 16}, words);
  writer.tensor("rope_freqs.weight", {4}, std::vector<float>{1, 1.5F, 2, 4});
  write_file(scratch / "f.gguf", writer.file());
  const std::string config = GgufModel::open(scratch / "f.gguf")->config_json();
  EXPECT_THAT(config, testing::HasSubstr("longrope"));
  EXPECT_THAT(config, testing::HasSubstr("1.5"));
}

// --- what is refused ---

std::string message_of(const fs::path& file) {
  try {
    load_model(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(GgufModel, ThatIsNotServedSaysWhy) {
  const test::Scratch scratch;
  const auto message = [&](const GgufWriter& writer) {
    write_file(scratch / "f.gguf", writer.file());
    const std::string text = message_of(scratch / "f.gguf");
    const std::string start = (scratch / "f.gguf").string() + ": ";
    return text.starts_with(start) ? text.substr(start.size()) : "elsewhere: " + text;
  };
  EXPECT_EQ(message(GgufWriter()),
            "general.architecture is missing, expected the name of an architecture");
  const std::string unknown = message(GgufWriter().key("general.architecture", "dream"));
  EXPECT_TRUE(unknown.starts_with("general.architecture is 'dream', expected one of: llama, "))
      << unknown;
  EXPECT_TRUE(unknown.ends_with(", bert, t5encoder, t5")) << unknown;
  EXPECT_EQ(message(GgufWriter().key("general.architecture", "mamba")),
            "general.architecture is 'mamba', expected a model without layers of a state space "
            "model, which heed does not compute");
  EXPECT_EQ(message(rotary_keys("qwen2").key("qwen2.expert_count", 8U)),
            "qwen2.expert_count is 8, expected none: models of this kind have no experts");
  EXPECT_EQ(message(rotary_keys("llama")),
            "token_embd.weight is missing, expected a tensor that every model of this kind has");
  EXPECT_EQ(message(GgufWriter()
                        .key("general.architecture", "llama")
                        .tensor("token_embd.weight", {11, 16}, std::vector<float>(176))),
            "llama.attention.head_count is missing, expected a whole number");
  EXPECT_EQ(
      message(llama().key("llama.rope.scaling.type", "strange")),
      "llama.rope.scaling.type is 'strange', expected none, linear or yarn, or longrope with its "
      "two tensors of factors");
  EXPECT_EQ(message(llama().key("llama.rope.dimension_count", 4U)),
            "llama.rope.dimension_count is 4, expected 8: whole heads are rotated");
  EXPECT_EQ(message(llama().tensor("blk.0.attn_sinks.weight", {4}, std::vector<float>(4))),
            "blk.0.attn_sinks.weight is a tensor that the model does not have, expected its "
            "parameters alone");
  EXPECT_EQ(message(llama()
                        .key("tokenizer.ggml.model", "rwkv")
                        .key("tokenizer.ggml.tokens", std::vector<std::string>{"a"})),
            "tokenizer.ggml.model is 'rwkv', expected llama, gpt2, bert or t5");
  EXPECT_EQ(message(llama()
                        .key("tokenizer.ggml.model", "gpt2")
                        .key("tokenizer.ggml.pre", "unheard-of")
                        .key("tokenizer.ggml.tokens", std::vector<std::string>{"a"}))
                .substr(0, 52),
            "tokenizer.ggml.pre is 'unheard-of', expected one of ");
  EXPECT_EQ(message(llama()
                        .key("tokenizer.ggml.model", "gpt2")
                        .key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"})
                        .key("tokenizer.ggml.merges", std::vector<std::string>{"a b"})),
            "tokenizer.ggml.merges[0] is 'a b', expected two pieces that are in the vocabulary, as "
            "their joint form is");
  EXPECT_EQ(message(llama()
                        .key("tokenizer.ggml.model", "llama")
                        .key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"})),
            "tokenizer.ggml.scores is 0 items, expected 2, one a token");
}

// As in llama.cpp, and as an id of config.json that the model does not have.
TEST(GgufModel, AnIdOutsideOfTheVocabularyIsNone) {
  const test::Scratch scratch;
  write_file(scratch / "f.gguf",
             llama()
                 .key("tokenizer.ggml.model", "gpt2")
                 .key("tokenizer.ggml.tokens", std::vector<std::string>(11, "a"))
                 .key("tokenizer.ggml.bos_token_id", 11U)
                 .key("tokenizer.ggml.eos_token_id", 255001U)
                 .key("tokenizer.ggml.eot_token_id", 10U)
                 .file());
  const LoadedModel read = load_model(scratch / "f.gguf", {.needs_tokenizers = true});
  EXPECT_NE(read.tokenizer, nullptr);
  EXPECT_EQ(read.model->info().first_token, -1);
  EXPECT_THAT(read.model->info().end_tokens, testing::ElementsAre(10));
}

}  // namespace
}  // namespace heed
