// What lies in the folders that users have: names of tensors, files that are not what they seem,
// models without words.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "heed/io/safetensors.h"
#include "heed/models/registry.h"
#include "io/atomic_file.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "support/scratch.h"
#include "text/word_level.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::string llama(const std::string& more = "") {
  return R"({"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2,
    "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11)" +
         more + "}";
}

using Rename = std::function<std::string(const std::string&)>;  // empty: left out

// The model, its tensors called otherwise, and `extra` ones of 4 numbers.
void save_as(const test::Scratch& scratch, const Model& model, const Rename& rename,
             const std::vector<std::string>& extra = {}) {
  save_model(scratch.folder(), model, nullptr, DType::kF32);
  std::vector<NamedView> tensors;
  for (const Parameter* parameter : model.parameters())
    if (const std::string name = rename(parameter->name); !name.empty())
      tensors.push_back({name, parameter->value});
  const Tensor numbers = Tensor::zeros({4});
  for (const std::string& name : extra) tensors.push_back({name, numbers});
  write_safetensors(scratch / "model.safetensors", tensors);
}

std::string same(const std::string& name) { return name; }

Tensor answer_of(const Model& model) {
  heed::Run run;
  return model.forward({.ids = test::random_ids({2, 5}, 11, 1)}, run);
}

TEST(Folder, NamesOfDistributedDataParallelAreRead) {
  for (const char* prefix : {"", "model."}) {
    const test::Scratch scratch;
    const auto model = make_model(llama(), 1);
    save_as(scratch, *model, [&](const std::string& name) {
      return "module." +
             (name.starts_with(prefix) ? name.substr(std::string(prefix).size()) : name);
    });
    EXPECT_TRUE(test::same_bits(answer_of(*load_model(scratch.folder()).model), answer_of(*model)));
  }
}

TEST(Folder, ADecoderWithoutWordsOpensAndGivesItsLastStates) {
  const test::Scratch scratch;
  const auto model = make_model(llama(R"(, "architectures": ["LlamaModel"])"), 1);
  save_as(scratch, *model, [](const std::string& name) {
    return name == "lm_head.weight" ? "" : name.substr(std::string("model.").size());
  });
  const LoadedModel loaded = load_model(scratch.folder());
  EXPECT_FALSE(loaded.model->info().has_logits);
  EXPECT_FALSE(loaded.model->info().writes());
  EXPECT_EQ(answer_of(*loaded.model).shape(), (Shape{2, 5, 8}));
}

TEST(Folder, AHeadForAnotherTaskIsLeftUnread) {
  const test::Scratch scratch;
  const auto model =
      make_model(llama(R"(, "architectures": ["LlamaForSequenceClassification"])"), 1);
  save_model(scratch.folder(), *model, nullptr, DType::kF32);
  const LoadedModel loaded = load_model(scratch.folder());
  EXPECT_FALSE(loaded.model->info().has_logits);
  EXPECT_EQ(loaded.unread, std::vector<std::string>{"score.weight"});
}

TEST(Folder, WordsThatAreMissingAreAnErrorWhereTheModelWritesWithThem) {
  const test::Scratch scratch;
  const auto model = make_model(llama(R"(, "architectures": ["LlamaForCausalLM"])"), 1);
  save_as(scratch, *model,
          [](const std::string& name) { return name == "lm_head.weight" ? "" : name; });
  try {
    load_model(scratch.folder());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.found(), "has no tensor 'lm_head.weight'");
  }
}

TEST(Folder, WhatIsWrongInTheHeadersIsToldWithoutLoading) {
  const test::Scratch scratch;
  save_as(scratch, *make_model(llama(), 1), same, {"foo.bar"});
  EXPECT_EQ(
      why_not_loaded(scratch.folder()),
      (scratch / "model.safetensors").string() +
          ": foo.bar is a tensor that the model does not have, expected its parameters alone");
  save_as(scratch, *make_model(llama(), 1), same);
  write_file(scratch / "config.json", llama(R"(, "mlp_bias": true)"));
  EXPECT_NE(why_not_loaded(scratch.folder()).find("has no tensor"), std::string::npos);
  write_file(scratch / "config.json", llama());
  write_file(scratch / "tokenizer.json", train_characters("abcdefghijklm")->to_json());
  EXPECT_EQ(why_not_loaded(scratch.folder()),
            "its tokenizer has 13 tokens and the model's vocabulary 11: texts with a token from 11 "
            "on cannot be read");
  write_file(scratch / "tokenizer.json", train_characters("abcdefghijk")->to_json());
  EXPECT_EQ(why_not_loaded(scratch.folder()), "");
}

TEST(Folder, OfAnOwnerIsFoundByBothNames) {
  const test::Scratch scratch;
  save_model(scratch / "owner/name", *make_model(llama(), 1), nullptr, DType::kF32);
  ::setenv("HEED_MODELS", scratch.folder().c_str(), 1);
  const std::vector<FoundModel> found = list_models();
  EXPECT_EQ(find_model("owner/name"), scratch / "owner/name");
  ::unsetenv("HEED_MODELS");
  EXPECT_EQ(found.front().name, "owner/name");
}

TEST(Folder, APointerOfGitLfsSaysHowTheFileIsFetched) {
  const test::Scratch scratch;
  save_as(scratch, *make_model(llama(), 1), same);
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
  const auto refused = [&](const char* name) {
    EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kUnsupported,
                      (scratch / name).string() +
                          ": a pointer of Git LFS, not the file itself; fetch it: git -C " +
                          scratch.folder().string() + " lfs pull");
  };
  write_file(scratch / "tokenizer.json", pointer);
  refused("tokenizer.json");
  write_file(scratch / "model.safetensors", pointer);
  refused("model.safetensors");
}

TEST(Folder, AdaptersAndGgufAreNamedAsWhatTheyAre) {
  const test::Scratch scratch;
  write_file(scratch / "model.gguf", "GGUF");
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kUnsupported,
                    scratch.folder().string() +
                        ": holds a model in GGUF, llama.cpp's format, expected its folder in "
                        "Hugging Face's layout: config.json and model.safetensors");
  write_file(scratch / "adapter_config.json", "{}");
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kUnsupported,
                    scratch.folder().string() +
                        ": holds an adapter (adapter_config.json), not a whole model, expected one "
                        "whose weights the adapter was merged into (peft's merge_and_unload)");
}

}  // namespace
}  // namespace heed
