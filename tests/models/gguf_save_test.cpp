// GGUF files written by heed: each architecture is read back with the same numbers, and what a file
// cannot represent is refused.
#include "models/gguf_save.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "heed/model.h"
#include "io/atomic_file.h"
#include "io/gguf.h"
#include "support/gguf_writer.h"
#include "support/places.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

Tensor logits_after(const Model& model) {
  heed::Run run;
  const Tensor ids = test::random_ids({2, 9}, 11, 1);
  return model.forward({.ids = ids}, run);
}

// Written by heed and read back.
void expect_same_again(const std::string& config, const std::string& architecture) {
  const test::Scratch scratch;
  const fs::path file = scratch / "m.gguf";
  LoadedModel written;
  written.model = make_model(config, 3);
  save_gguf(file, written, "F32");
  EXPECT_EQ(*Gguf::open(file)["general.architecture"].as_text(), architecture);
  // YaRN's attention_factor is a quotient in the file.
  const double tolerance = config.find("yarn") != std::string::npos ? 1e-6 : 0;
  EXPECT_LE(
      test::largest_difference(logits_after(*load_model(file).model), logits_after(*written.model)),
      tolerance)
      << config;
}

// Architectures, and configurations of models that are written so.
std::vector<std::pair<std::string, std::string>> decoder_cases() {
  const std::string sizes = R"("vocab_size": 11, "max_position_embeddings": 32, "hidden_size": 32,
    "intermediate_size": 24, "num_hidden_layers": 4, "num_attention_heads": 4, "rope_theta": 500.0)";
  const std::string grouped = sizes + R"(, "num_key_value_heads": 2)";
  std::string slow = grouped;
  slow.replace(slow.find("500.0"), 5, "500000.0");
  const std::string windows = grouped + R"(, "sliding_window": 4)";
  std::vector<std::pair<std::string, std::string>> cases = {
      {"phi2", R"("model_type": "phi", "partial_rotary_factor": 0.5, )" + grouped},
      {"phi3", R"("model_type": "phi3", )" + windows},
      {"phi3", R"("model_type": "phi3", "original_max_position_embeddings": 8,
        "rope_scaling": {"type": "longrope", "short_factor": [1, 1.5, 2, 3],
                         "long_factor": [2, 3, 4, 8], "attention_factor": 1.25}, )" +
                   grouped},
      {"gemma", R"("model_type": "gemma", "head_dim": 16, )" + grouped},
      {"gemma2",
       R"("model_type": "gemma2", "head_dim": 16, "query_pre_attn_scalar": 16, )" + windows},
      {"gemma3",
       R"("model_type": "gemma3_text", "head_dim": 16, "query_pre_attn_scalar": 16, )" + windows},
      {"gptneox", R"("model_type": "gpt_neox", "rotary_pct": 0.5, )" + sizes},
      {"gptneox", R"("model_type": "gpt_neox", "use_parallel_residual": false, )" + sizes},
      {"stablelm", R"("model_type": "stablelm", "use_qkv_bias": true, )" + grouped},
      {"stablelm", R"("model_type": "stablelm", "use_parallel_residual": true, )" + grouped},
      {"stablelm", R"("model_type": "stablelm", "qk_layernorm": true, )" + grouped},
      {"starcoder2", R"("model_type": "starcoder2", )" + grouped},
      {"olmo", R"("model_type": "olmo", )" + grouped},
      {"olmo2", R"("model_type": "olmo2", )" + grouped},
      {"olmo2", R"("model_type": "olmo3", )" + windows},
      {"command-r", R"("model_type": "cohere", "logit_scale": 0.25, )" + grouped},
      {"command-r", R"("model_type": "cohere", "use_qk_norm": true, )" + grouped},
      {"cohere2", R"("model_type": "cohere2", )" + windows},
      {"smollm3", R"("model_type": "smollm3", )" + grouped},
      {"glm4", R"("model_type": "glm4", "head_dim": 16, )" + grouped},
      {"llama", R"("model_type": "mistral", "sliding_window": null, )" + grouped},
      {"llama", R"("model_type": "mixtral", "num_local_experts": 3, )" + grouped},
      {"qwen2moe", R"("model_type": "qwen2_moe", "num_experts": 3, "num_experts_per_tok": 2,
        "moe_intermediate_size": 8, "shared_expert_intermediate_size": 12, )" +
                       grouped},
      {"qwen3moe", R"("model_type": "qwen3_moe", "num_experts": 3, "num_experts_per_tok": 2,
        "moe_intermediate_size": 8, "norm_topk_prob": true, )" +
                       grouped},
      {"gpt-oss", R"("model_type": "gpt_oss", "num_local_experts": 3, "num_experts_per_tok": 2,
        "head_dim": 8, "rope_scaling": {"rope_type": "yarn", "factor": 4, "truncate": false,
        "original_max_position_embeddings": 8}, )" +
                      windows},
      {"olmoe", R"("model_type": "olmoe", "num_experts": 3, "num_experts_per_tok": 2, )" + grouped},
      {"granite", R"("model_type": "granite", "residual_multiplier": 0.5, )" + grouped},
      {"nemotron", R"("model_type": "nemotron", )" + grouped},
      {"bloom", R"("model_type": "bloom", "n_layer": 2, "n_head": 4, )" + sizes},
      {"falcon", R"("model_type": "falcon", )" + sizes},
      {"falcon",
       R"("model_type": "falcon", "new_decoder_architecture": true, "num_kv_heads": 2, )" + sizes},
      {"llama", R"("model_type": "llama", "rope_scaling": {"rope_type": "llama3", "factor": 8,
        "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192}, )" +
                    slow},
      {"qwen3", R"("model_type": "qwen3", "head_dim": 16, "rope_scaling": {"rope_type": "yarn",
        "factor": 4, "original_max_position_embeddings": 8, "attention_factor": 1.5}, )" +
                    grouped}};
  for (auto& [architecture, config] : cases) config = "{" + config + "}";
  return cases;
}

TEST(GgufSave, EveryDecoderIsReadAsItWasWritten) {
  for (const auto& [architecture, config] : decoder_cases())
    expect_same_again(config, architecture);
}

// A model that is loaded to run keeps its blocks, whatever order the file has its rows in, and has
// the bits of the model of the numbers that they mean.
TEST(GgufSave, LoadedToRunBlocksStayCodes) {
  for (const auto& [architecture, config] : decoder_cases())
    for (const char* const type : {"Q4_0", "Q8_0"}) {
      const test::Scratch scratch;
      LoadedModel written;
      written.model = make_model(config, 3);
      save_gguf(scratch / "m.gguf", written, type);
      const LoadedModel plain = load_model(scratch / "m.gguf");
      const LoadedModel codes =
          load_model(scratch / "m.gguf", {.packed = true, .dtype = DType::kF32});
      EXPECT_TRUE(test::same_bits(logits_after(*codes.model), logits_after(*plain.model)))
          << architecture << " in " << type;
      std::int64_t held = 0;
      for (const Parameter* parameter : codes.model->parameters())
        if (parameter->held_in() == type) held += parameter->held_bytes();
      EXPECT_GT(held, 4 * 32 * 32 / 2) << architecture << " in " << type;
    }
}

// The error that a file of these bytes gives, without the file's name; empty: it loads.
std::string error_of(const fs::path& file, const std::string& bytes) {
  write_file(file, bytes);
  try {
    load_model(file);
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_THAT(text, testing::StartsWith(file.string())) << "another file is named";
    return text.substr(std::min(text.size(), file.string().size() + 2));
  }
  return "";
}

TEST(GgufSave, KeysAndTensorsThatAreMissingAreNamedOrHaveADefault) {
  const test::Scratch scratch;
  for (const auto& [architecture, config] : decoder_cases()) {
    LoadedModel model;
    model.model = make_model(config, 3);
    save_gguf(scratch / "whole.gguf", model, "F32");
    const std::string whole = read_file(scratch / "whole.gguf");
    const Gguf file = Gguf::open(scratch / "whole.gguf");
    const auto without = [&](const std::string& name) {
      std::string bytes = whole;
      bytes.replace(bytes.find(test::GgufWriter::text(name)) + sizeof(std::uint64_t), 1, "X");
      return error_of(scratch / "f.gguf", bytes);
    };
    for (const char* key : {".embedding_length", ".block_count", ".attention.head_count"})
      EXPECT_THAT(without(architecture + key), testing::StartsWith(architecture + key)) << config;
    for (const auto& [name, tensor] : file.tensors())
      EXPECT_NE(without(name), "") << architecture << ": " << name;
  }
}

TEST(GgufSave, T5IsReadAsItWasWritten) {
  const std::string sizes = R"("vocab_size": 11, "d_model": 16, "d_kv": 4, "d_ff": 24,
    "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4)";
  const auto same = [&](const std::string& config, const char* architecture) {
    const test::Scratch scratch;
    const fs::path file = scratch / "m.gguf";
    LoadedModel written;
    written.model = make_model("{" + config + ", " + sizes + "}", 3);
    save_gguf(file, written, "F32");
    EXPECT_EQ(*Gguf::open(file)["general.architecture"].as_text(), architecture);
    const LoadedModel read = load_model(file);
    const auto own = written.model->parameters(), others = read.model->parameters();
    for (const Parameter* parameter : own) {
      const auto other = std::ranges::find(others, parameter->name, &Parameter::name);
      ASSERT_NE(other, others.end()) << parameter->name;
      EXPECT_EQ(test::largest_difference(parameter->value, (*other)->value), 0) << parameter->name;
    }
  };
  same(R"("model_type": "t5")", "t5");
  same(R"("model_type": "t5", "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false)",
       "t5");
  same(R"("model_type": "t5", "architectures": ["T5EncoderModel"])", "t5encoder");
}

// llama.cpp refuses a file with fewer tokens than rows of the embedding, as Pythia's and Phi's
// have.
TEST(GgufSave, EveryRowOfTheModelHasATokenInTheFile) {
  const test::Scratch scratch;
  const fs::path file = scratch / "m.gguf";
  LoadedModel written;
  written.tokenizer = load_tokenizer(HEED_SOURCE_DIR "/tests/text/tokenizers/bytes-gpt2.json");
  const std::int64_t tokens = written.tokenizer->vocabulary_size();
  written.model = make_model(
      fmt::format(R"({{"model_type": "llama", "vocab_size": {}, "max_position_embeddings": 32,
        "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 1,
        "num_attention_heads": 4}})",
                  tokens + 3),
      3);
  save_gguf(file, written, "F32");
  const Gguf read = Gguf::open(file);
  EXPECT_EQ(std::ssize(read["tokenizer.ggml.tokens"].items()), tokens + 3);
  EXPECT_EQ(read["tokenizer.ggml.token_type"].items()[tokens + 2], Json(5));  // unused
  const std::string text = "a cat [PAD" + std::to_string(tokens) + "]";
  EXPECT_EQ(load_model(file).tokenizer->encode(text, false).ids,
            written.tokenizer->encode(text, false).ids);
}

// GPT-2's tokenizer.json on the hub does not say that its model is BPE.
TEST(GgufSave, ATokenizerWithoutItsTypeIsWritten) {
  const test::Scratch scratch;
  std::string file = read_file(HEED_SOURCE_DIR "/tests/text/tokenizers/bytes-gpt2.json");
  const std::string type = R"("type":"BPE",)";
  ASSERT_NE(file.find(type), std::string::npos);
  file.erase(file.find(type), type.size());
  write_file(scratch / "tokenizer.json", file);
  LoadedModel written;
  written.tokenizer = load_tokenizer(scratch / "tokenizer.json");
  written.model =
      make_model(fmt::format(R"({{"model_type": "gpt2", "vocab_size": {}, "n_embd": 8, "n_head": 2,
        "n_layer": 1, "n_positions": 16}})",
                             written.tokenizer->vocabulary_size()),
                 3);
  save_gguf(scratch / "m.gguf", written, "F32");
  const std::string text = "a cat";
  EXPECT_EQ(load_model(scratch / "m.gguf").tokenizer->encode(text, false).ids,
            written.tokenizer->encode(text, false).ids);
}

TEST(GgufSave, ATiedHeadIsInTheFileWhereLlamaCppLooksForIt) {
  const test::Scratch scratch;
  const auto has_head = [&](const std::string& type) {
    LoadedModel written;
    written.model = make_model(
        R"({"vocab_size": 11, "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 1,
            "num_attention_heads": 4, "tie_word_embeddings": true, "model_type": ")" +
            type + "\"}",
        3);
    save_gguf(scratch / (type + ".gguf"), written, "F32");
    return Gguf::open(scratch / (type + ".gguf")).find("output.weight") != nullptr;
  };
  EXPECT_TRUE(has_head("olmo2"));
  EXPECT_TRUE(has_head("gpt_neox"));
  EXPECT_FALSE(has_head("llama"));
}

TEST(GgufSave, TheChatTemplateOfTheFolderIsTakenAlong) {
  const test::Scratch scratch;
  const std::string source = "{% for m in messages %}{{ m.content }}{% endfor %}";
  write_file(scratch / "chat_template.jinja", source);
  LoadedModel written;
  written.folder = scratch.folder();
  written.model = make_model(R"({"model_type": "gpt2", "vocab_size": 11, "n_embd": 8, "n_head": 2,
                                 "n_layer": 1, "n_positions": 16})",
                             3);
  save_gguf(scratch / "m.gguf", written, "F32");
  EXPECT_EQ(Gguf::open(scratch / "m.gguf")["tokenizer.chat_template"], Json(source));
}

// A file represents less than a configuration: what it cannot represent is refused, not lost.
TEST(GgufSave, WhatAFileCannotSayIsRefusedByName) {
  const test::Scratch scratch;
  const auto message = [&](const std::string& more) -> std::string {
    LoadedModel model;
    model.model = make_model(
        R"({"vocab_size": 11, "max_position_embeddings": 32, "hidden_size": 32, "intermediate_size": 24,
          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, )" +
            more + "}",
        3);
    try {
      save_gguf(scratch / "m.gguf", model, "F32");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(R"("model_type": "starcoder2", "sliding_window": 6)"),
            "gguf: sliding_window is 6, expected 0, as llama.cpp's 'starcoder2' has it");
  EXPECT_EQ(message(R"("model_type": "smollm3", "no_rope_layers": [1, 0])"),
            "gguf: the rotation of positions is 8 of halves, base 2e+06; none (by layer), expected "
            "8 of halves, base 2e+06, as llama.cpp's 'smollm3' has it");
  EXPECT_EQ(message(R"("model_type": "mistral", "sliding_window": 6, "layer_types":
                       ["sliding_attention", "full_attention"])"),
            "gguf: sliding_window is 6, expected 0, as llama.cpp's 'llama' has it");
  EXPECT_EQ(
      message(R"("model_type": "phi", "qk_layernorm": true)"),
      "gguf: a norm of queries and keys is true, expected false, as llama.cpp's 'phi2' has it");
  EXPECT_EQ(message(R"("model_type": "gemma2", "head_dim": 8, "query_pre_attn_scalar": 4)"),
            "gguf: the scale of scores is 0.5, expected 0.35355, as llama.cpp's 'gemma2' has it");
  EXPECT_THAT(
      message(R"("model_type": "opt", "word_embed_proj_dim": 32)"),
      testing::HasSubstr("model_type is 'opt', expected one that GGUF files are written of"));
  EXPECT_FALSE(fs::exists(scratch / "m.gguf"));
}

}  // namespace
}  // namespace heed
