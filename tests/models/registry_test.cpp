// Model folders: found, read, written, and refused with one clear line.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "heed/model.h"
#include "io/atomic_file.h"
#include "models/search_path.h"
#include "nn/parameter.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOneLayer =
    R"({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8,
  "n_positions": 6, "vocab_size": 11, "attn_pdrop": 0, "bos_token_id": 3})";

// A saved tiny model in a folder of its own.
struct TinyFolder {
  explicit TinyFolder(DType dtype = DType::kF32) : model(make_model(kOneLayer, 1)) {
    save_model(folder(), *model, nullptr, dtype);
  }
  fs::path folder() const { return scratch / "tiny"; }
  std::string file(const char* name) const { return (folder() / name).string(); }

  test::Scratch scratch;
  std::unique_ptr<Model> model;
};

Tensor logits_of(const Model& model) {
  heed::Run run;
  const Tensor ids = test::random_ids({2, 5}, 11, 1);
  return model.forward({.ids = ids}, run);
}

TEST(Registry, WhatIsSavedLoadsTheSame) {
  const TinyFolder saved;
  const LoadedModel loaded = load_model(saved.folder());
  EXPECT_EQ(loaded.name, "tiny");
  EXPECT_FALSE(loaded.built_in);
  EXPECT_EQ(loaded.tokenizer, nullptr);
  EXPECT_EQ(loaded.model->info().first_token, 3);
  EXPECT_EQ(loaded.model->config_json(), saved.model->config_json());
  EXPECT_TRUE(test::same_bits(logits_of(*loaded.model), logits_of(*saved.model)));
}

TEST(Registry, SixteenBitsAreCloseToWhatWasSaved) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const TinyFolder saved(dtype);
    const LoadedModel loaded = load_model(saved.folder());
    EXPECT_LE(test::largest_difference(logits_of(*loaded.model), logits_of(*saved.model)), 5e-3);
  }
}

// A model loaded to run computes what one that was loaded and packed afterwards does, tied or not,
// from files of any type.
TEST(Registry, LoadedToRunIsAsLoadedAndPacked) {
  for (const char* tied : {"true", "false"}) {
    for (const DType stored : {DType::kF32, DType::kF16, DType::kBF16}) {
      const test::Scratch scratch;
      const std::string config = std::string(kOneLayer).substr(0, kOneLayer.size() - 1) +
                                 R"(, "tie_word_embeddings": )" + tied + "}";
      save_model(scratch / "tiny", *make_model(config, 1), nullptr, stored);
      for (const DType dtype : {stored, DType::kF32, DType::kBF16}) {
        const LoadedModel packed = load_model(scratch / "tiny");
        pack(packed.model->parameters(), dtype);
        const LoadedModel loaded = load_model(scratch / "tiny", {.packed = true, .dtype = dtype});
        EXPECT_TRUE(test::same_bits(logits_of(*loaded.model), logits_of(*packed.model)))
            << tied << ", " << name(stored) << " as " << name(dtype);
        EXPECT_EQ(packed_type(loaded.model->parameters()), packed_type(packed.model->parameters()));
      }
    }
  }
}

TEST(Registry, LoadedToRunIsOfTheTypeOfTheFile) {
  const TinyFolder saved(DType::kBF16);
  const LoadedModel loaded = load_model(saved.folder(), {.packed = true});
  EXPECT_EQ(packed_type(loaded.model->parameters()), DType::kBF16);
}

// The file may be gone: what is mapped stays.
TEST(Registry, LoadedToRunOutlivesItsFile) {
  const TinyFolder saved;
  const LoadedModel loaded = load_model(saved.folder(), {.packed = true});
  fs::remove_all(saved.folder());
  EXPECT_TRUE(test::same_bits(logits_of(*loaded.model), logits_of(*saved.model)));
}

TEST(Registry, AnUnknownFolderIsNamed) {
  EXPECT_HEED_ERROR(load_model("/no/such/model"), ErrorCode::kNotFound,
                    "/no/such/model: no such folder");
}

TEST(Registry, AFolderWithoutConfigIsNoModel) {
  const test::Scratch scratch;
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kNotFound,
                    scratch.folder().string() +
                        ": has no config.json, expected a model folder in Hugging Face's layout");
}

TEST(Registry, AnUnknownModelTypeIsNamed) {
  try {
    make_model(R"({"model_type": "llava"})", 1);
    ADD_FAILURE() << "llava was made";
  } catch (const Error& error) {
    const std::string_view what = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_TRUE(
        what.starts_with("config: line 1, column 16: model_type is 'llava', expected one of: gpt2, "
                         "llama, mistral, "))
        << what;
    EXPECT_TRUE(what.ends_with(", lesson")) << what;
  }
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "kimi_linear"})", 1), ErrorCode::kUnsupported,
                    "config: line 1, column 16: model_type is 'kimi_linear', expected a model "
                    "without layers of linear attention (gated delta rule), which heed does not "
                    "compute");
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "gpt2", "n_layer": 1, "n_layer": 2})", 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 49: n_layer is given twice, expected once");
  EXPECT_HEED_ERROR(make_model("[1]", 1), ErrorCode::kCorrupt,
                    "config: line 1, column 1: the whole is [1], expected a JSON object with "
                    "'model_type'");
}

TEST(Registry, ConfigValuesOfTheWrongKindAreNamed) {
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "gpt2", "n_embd": "wide"})", 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 34: n_embd is \"wide\", expected a whole number, 1 to "
                    "1073741824");
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "gpt2", "n_embd": 10, "n_head": 3})", 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 34: n_embd is 10, expected a multiple of n_head (3)");
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "gpt2", "activation_function": "prelu"})", 1),
      ErrorCode::kUnsupported,
      "config: line 1, column 47: activation_function is 'prelu', expected one of: "
      "gelu, gelu_new, gelu_pytorch_tanh, relu, relu2, silu, swish, quick_gelu, gelu_python, "
      "gelu_python_tanh, gelu_fast, gelu_accurate, gelu_10, hardswish, laplace, leaky_relu, "
      "linear, mish, relu6, sigmoid, tanh");
}

TEST(Registry, ATensorOfTheWrongShapeIsNamed) {
  const TinyFolder saved;
  std::string config = read_file(saved.folder() / "config.json");
  config.replace(config.find("\"n_positions\": 6"), 16, "\"n_positions\": 7");
  write_file(saved.folder() / "config.json", config);
  EXPECT_HEED_ERROR(load_model(saved.folder()), ErrorCode::kCorrupt,
                    saved.file("model.safetensors") +
                        ": transformer.wpe.weight.shape is [6, 8], expected [7, 8]");
}

TEST(Registry, AConfigThatPromisesMoreThanTheFileHoldsTakesNoMemory) {
  for (const char* promise : {R"("n_layer": 1000000000)", R"("n_embd": 1000000000)",
                              R"("n_positions": 1000000000)", R"("n_inner": 1000000000)"}) {
    const TinyFolder saved;
    const std::string config = std::string(kOneLayer);
    write_file(saved.folder() / "config.json",
               config.substr(0, config.rfind('}')) + ", " + promise + "}");
    EXPECT_THROW(load_model(saved.folder()), Error) << promise;
  }
}

TEST(Registry, AMissingTensorIsNamed) {
  const TinyFolder saved;
  std::string config = read_file(saved.folder() / "config.json");
  config.replace(config.find("\"n_layer\": 1"), 12, "\"n_layer\": 2");
  write_file(saved.folder() / "config.json", config);
  try {
    load_model(saved.folder());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_NE(std::string(error.what()).find("transformer.h.1.mlp.c_proj.weight"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find(saved.file("model.safetensors")), std::string::npos);
  }
}

TEST(Registry, TruncatedWeightsAreAnError) {
  const TinyFolder saved;
  const fs::path weights = saved.folder() / "model.safetensors";
  for (const std::uintmax_t bytes :
       {std::uintmax_t{0}, std::uintmax_t{5}, std::uintmax_t{100}, fs::file_size(weights) - 1}) {
    fs::resize_file(weights, bytes);
    EXPECT_THROW(load_model(saved.folder()), Error) << bytes;
    save_model(saved.folder(), *saved.model, nullptr, DType::kF32);
  }
}

TEST(Registry, FindsAFolderAndANameInTheSearchPath) {
  const TinyFolder saved;
  EXPECT_EQ(find_model(saved.folder().string()), saved.folder());
  ::setenv("HEED_MODELS", saved.scratch.folder().c_str(), 1);
  EXPECT_EQ(find_model("tiny"), saved.folder());
  ASSERT_FALSE(list_models().empty());
  EXPECT_EQ(list_models().front().name, "tiny");
  ::unsetenv("HEED_MODELS");
}

TEST(Registry, FindsTheModelOfATrainingRun) {
  const TinyFolder saved;
  const fs::path run = saved.scratch / "runs/novels";
  save_model(run / "model", *saved.model, nullptr, DType::kF32);
  EXPECT_EQ(find_model(run.string()), run);  // no run yet
  write_file(run / "run.json", "{}");
  EXPECT_EQ(find_model(run.string()), run / "model");
  ::setenv("HEED_MODELS", (saved.scratch / "runs").c_str(), 1);
  EXPECT_EQ(find_model("novels"), run / "model");
  EXPECT_EQ(list_models().front().name, "novels");
  EXPECT_EQ(list_models().front().folder, run / "model");
  ::unsetenv("HEED_MODELS");
}

TEST(Registry, FindsASnapshotOfTheHub) {
  const TinyFolder saved;
  const fs::path repository = saved.scratch / "hub/models--some--tiny";
  const fs::path snapshot = repository / "snapshots/abc";
  save_model(snapshot, *saved.model, nullptr, DType::kF32);
  fs::create_directories(repository / "refs");
  write_file(repository / "refs/main", "abc\n");
  ::setenv("HF_HOME", saved.scratch.folder().c_str(), 1);
  EXPECT_EQ(find_model("some/tiny"), snapshot);
  ::unsetenv("HF_HOME");
}

TEST(CardLine, IsTheFirstParagraphBehindHeadings) {
  const test::Scratch scratch;
  write_file(scratch.folder() / "card.md",
             "---\nlicense: mit\n---\n# A model\n\n  Tales of\r\nold. \n\nMore.\n");
  EXPECT_EQ(card_line(scratch.folder()), "Tales of old.");
}

TEST(CardLine, OfAFolderOfTheHubIsThatOfItsReadme) {
  const test::Scratch scratch;
  write_file(scratch.folder() / "README.md", "# GPT-2\nA model.\n");
  EXPECT_EQ(card_line(scratch.folder()), "A model.");
}

TEST(CardLine, IsPlainText) {
  const std::pair<const char*, const char*> cases[] = {
      {"A [small *model*](https://x.org/a_(b)) of **two** `layers`.",
       "A small model of two layers."},
      {"![badge](x.svg) [![b](y)](z)\n\nReads __well__, as _told_.", "Reads well, as told."},
      {"snake_case_names, 2 * 3, a [list] and \\*stars\\*",
       "snake_case_names, 2 * 3, a [list] and *stars*"}};
  for (const auto& [card, line] : cases) {
    const test::Scratch scratch;
    write_file(scratch.folder() / "README.md", card);
    EXPECT_EQ(card_line(scratch.folder()), line);
  }
}

TEST(CardLine, WithoutACardIsEmpty) {
  const test::Scratch scratch;
  EXPECT_EQ(card_line(scratch.folder()), "");
}

TEST(CardLine, OfBytesThatAreNoTextIsEmpty) {
  const test::Scratch scratch;
  write_file(scratch.folder() / "card.md", "\xff\n");
  EXPECT_EQ(card_line(scratch.folder()), "");
}

TEST(Registry, AnUnknownNameListsWhereItLooked) {
  try {
    find_model("no-such-model");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_EQ(
        std::string(error.what())
            .rfind("model is 'no-such-model', neither a folder nor a known name, expected ", 0),
        0U);
    EXPECT_NE(std::string(error.what()).find("share/heed/models"), std::string::npos);
    EXPECT_TRUE(error.hint().ends_with("; a model of the hub: hf download no-such-model"))
        << error.hint();
  }
}

TEST(Registry, AnUnknownNameNamesTheNearest) {
  try {
    find_model("taels");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(error.hint().starts_with("the nearest is tales; looked in ")) << error.hint();
  }
}

TEST(Registry, AHostSaysWhereItsBuiltInModelsLie) {
  const TinyFolder saved;
  set_built_in_models(saved.folder().parent_path());
  const fs::path found = find_model("");
  const bool built_in = load_model(found).built_in;
  set_built_in_models({});
  EXPECT_EQ(found, saved.folder());
  EXPECT_TRUE(built_in);
  EXPECT_FALSE(load_model(found).built_in);
}

}  // namespace
}  // namespace heed
