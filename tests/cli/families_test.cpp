// heed check model, convert and models as a user runs them, on the committed models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "heed/model.h"
#include "io/tensor_files.h"
#include "support/places.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::Answer;
using test::heed;
using testing::HasSubstr;

const std::string kGoldens = std::string(HEED_SOURCE_DIR) + "/tests/models/golden/";

// While it lives, a file of this process and its children has at most this many bytes.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &before_); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_ = {};
};

TEST(CheckModelProgram, PrintsTheWorstErrorOfEachTensor) {
  const Answer answer = heed({"check", "model", kGoldens + "marian"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.out, HasSubstr("passed   cross_attentions.0         worst "));
  EXPECT_THAT(answer.out, testing::EndsWith("12 passed, 0 failed, 0 unknown, 4 inputs\n"));
}

TEST(CheckModelProgram, JsonHasEveryTensor) {
  const Answer answer = heed({"check", "model", kGoldens + "bert", "--json"});
  EXPECT_EQ(answer.status, 0);
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_TRUE(json["passed"]);
  EXPECT_EQ(json["tensors"].size(), 11U);
  for (const auto& tensor : json["tensors"])
    EXPECT_EQ(tensor.contains("worst"), tensor["status"] == "passed") << tensor;
}

TEST(CheckModelProgram, WhatHasNoToleranceIsMeasuredAlone) {
  const Answer answer = heed({"check", "model", kGoldens + "marian", "--dtype", "f16"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, testing::ContainsRegex("measured  logits +worst [0-9.e-]+ +golden.json "
                                                 "has no tolerance in this type\n"));
  EXPECT_THAT(answer.out, testing::ContainsRegex("[0-9]+ failed, [0-9]+ measured, 0 unknown"));
}

TEST(CheckModelProgram, TakesTheNameOfAModel) {
  EXPECT_TRUE(heed({"check", "model", "tales"})
                  .error.ends_with("models/tales: has no golden.safetensors, expected a model "
                                   "folder with published numbers\n"));
  const Answer unknown = heed({"check", "model", "nope"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error,
              testing::StartsWith(
                  "heed check: DIR is 'nope', neither a folder nor a known name, expected "));
}

TEST(CheckModelProgram, AnotherModelFails) {
  const std::filesystem::path folder = test::scratch() / "mixed_up";
  std::filesystem::copy(kGoldens + "gpt2", folder);
  std::filesystem::copy_file(kGoldens + "llama/golden.safetensors", folder / "golden.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  const Answer answer = heed({"check", "model", folder.string()});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out, HasSubstr("failed   logits"));
}

Tensor load_weights(const std::filesystem::path& folder) {
  const Weights weights = Weights::open(folder);
  const std::string name = "model.layers.0.mlp.down_proj.weight";
  return weights.load_f32(name, weights.kind(name).shape);
}

TEST(ConvertProgram, WritesTheSameModelInAnotherType) {
  const std::filesystem::path out = test::scratch() / "converted";
  const Answer answer = heed({"convert", kGoldens + "llama", "-o", out.string(), "--dtype", "f16"});
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, out.string() + ": Qwen3 in f16\nleft out: golden.safetensors\n");
  const Safetensors written = Safetensors::open(out / "model.safetensors");
  const Safetensors given = Safetensors::open(kGoldens + "llama/model.safetensors");
  EXPECT_EQ(written.names(), given.names());
  EXPECT_EQ(written.tensor("model.norm.weight").dtype(), DType::kF16);
}

TEST(ConvertProgram, WritesAndReadsGguf) {
  const std::string file = (test::scratch() / "small.gguf").string();
  const Answer written = heed({"convert", "tales", "-o", file, "--dtype", "q8_0"});
  EXPECT_EQ(written.error, "");
  EXPECT_EQ(written.out, file + ": Llama in q8_0\n");
  const std::string folder = (test::scratch() / "from-gguf").string();
  EXPECT_EQ(heed({"convert", file, folder}).out, folder + ": Llama in f32\n");
  const Tensor given = load_weights(find_model("tales")), read = load_weights(folder);
  EXPECT_LE(test::largest_difference(given, read), 0.01);
  EXPECT_EQ(heed({"convert", "tales", "-o", file}).error,
            "heed convert: -o is " + file + ", which is there, expected a new file\n");
  EXPECT_EQ(heed({"convert", "tales", "-o", folder + "2", "--dtype", "q4_0"}).error,
            "heed convert: --dtype is q4_0, expected f32, f16 or bf16, unless -o ends in .gguf\n");
  EXPECT_THAT(heed({"convert", kGoldens + "llama", "-o", file + "2.gguf"}).error,
              HasSubstr("sliding_window is"));
  EXPECT_THAT(heed({"convert", "enja", "-o", file + "2.gguf"}).error,
              HasSubstr("model_type is 'marian', expected one that GGUF files are written of"));
}

TEST(CheckProgram, PrintsTheErrorOfActivationsInBytes) {
  const std::string file = (test::scratch() / "q4.gguf").string();
  ASSERT_EQ(heed({"convert", "tales", "-o", file, "--dtype", "q4_0"}).error, "");
  const Answer answer = heed({"check", "model", file, "--activations", "q8", "--json"});
  EXPECT_EQ(answer.error, "");
  const auto found = nlohmann::json::parse(answer.out);
  EXPECT_EQ(found["tokens"], 64);
  EXPECT_GT(found["divergence"], 0);
  EXPECT_LT(found["divergence"], 0.01);
  EXPECT_GT(found["largest_difference"], found["mean_difference"]);
  EXPECT_LT(found["other_next"], 16);
  EXPECT_THAT(heed({"check", "model", file, "--activations", "q8"}).out,
              HasSubstr("activations in q8 beside f32, 64 random tokens\nlogits differ by "));
  EXPECT_THAT(
      heed({"check", "model", "tales", "--activations", "q8"}).error,
      HasSubstr("--activations is q8, expected f32: no weight of tales is quantised in blocks"));
  EXPECT_THAT(heed({"check", "onnx", ".", "--activations", "q8"}).error,
              HasSubstr("--activations is q8, expected it with model"));
  const auto written = [&](const char* activations) {
    return heed({"generate", "The king", "--model", file, "-n", "8", "--temperature", "0",
                 "--activations", activations});
  };
  EXPECT_EQ(written("q8").error, "");
  EXPECT_THAT(written("q8").out, testing::StartsWith("The king"));
  EXPECT_THAT(written("q4").error, HasSubstr("--activations is \"q4\", expected one of f32, q8"));
}

TEST(ConvertProgram, TakesTheSmallFilesAlongAndNamesWhatItLeavesOut) {
  const std::filesystem::path model = test::scratch() / "with-companions";
  std::filesystem::copy(kGoldens + "bert", model);
  for (const char* folder : {"1_Pooling", "2_Dense", "onnx"})
    std::filesystem::create_directories(model / folder);
  const std::vector<std::string> small = {"1_Pooling/config.json",     "2_Dense/config.json",
                                          "2_Dense/model.safetensors", "modules.json",
                                          "tokenizer_config.json",     "special_tokens_map.json",
                                          "generation_config.json"};
  for (const std::string& name : small)
    std::ofstream(model / name) << R"({"about": ")" << name << "\"}";
  std::ofstream(model / "notes.txt") << "mine";
  const std::filesystem::path out = test::scratch() / "with-companions-f16";
  const Answer answer = heed({"convert", model.string(), "-o", out.string(), "--dtype", "f16"});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.out, testing::EndsWith("\nleft out: golden.safetensors, notes.txt, onnx/\n"));
  for (const std::string& name : small)
    EXPECT_EQ(test::content(out / name), test::content(model / name)) << name;
}

TEST(ConvertProgram, NamesTheTensorsThatItLeavesOut) {
  const std::filesystem::path model = test::scratch() / "with-more-tensors";
  std::filesystem::copy(kGoldens + "gpt2", model);
  const Safetensors given = Safetensors::open(kGoldens + "gpt2/model.safetensors");
  std::vector<NamedView> tensors;
  for (const std::string& name : given.names()) tensors.push_back({name, given.tensor(name)});
  const Tensor extra = Tensor::zeros({3});
  for (const char* name :
       {"transformer.h.0.attn.bias", "transformer.h.1.attn.bias", "score.weight"})
    tensors.push_back({name, extra});
  write_safetensors(model / "model.safetensors", tensors);
  const std::string out = (test::scratch() / "fewer-tensors").string();
  const Answer answer = heed({"convert", model.string(), "-o", out});
  EXPECT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out,
              HasSubstr("\nleft out tensors: score.weight, transformer.h.*.attn.bias (2)\n"));
}

TEST(ConvertProgram, NamesTheHeadForGapsThatGgufHasNoPlaceFor) {
  const Answer answer = heed({"convert", HEED_SOURCE_DIR "/models/masks", "-o",
                              (test::scratch() / "masks.gguf").string()});
  EXPECT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("\nleft out tensors: cls.predictions."));
}

TEST(ConvertProgram, SaysWhichNumbersAreNoneInTheTypeThatIsWritten) {
  const std::filesystem::path path = test::scratch() / "too-large";
  LoadedModel model = load_model(kGoldens + "gpt2");
  Parameter& first = *model.model->parameters().front();
  first.value.data<float>()[0] = 70000;
  save_model(path, *model.model, nullptr, DType::kF32);
  const auto convert = [&](const char* dtype) {
    return heed({"convert", path.string(), "--dtype", dtype, "-o",
                 (test::scratch() / (std::string("too-large-") + dtype)).string()});
  };
  EXPECT_EQ(convert("f16").error,
            "heed convert: numbers that are not finite in f16: " + first.name + " (1)\n");
  EXPECT_EQ(convert("bf16").error, "");
  const std::string file = (test::scratch() / "too-large.gguf").string();
  EXPECT_EQ(heed({"convert", path.string(), "--dtype", "f16", "-o", file}).error,
            "heed convert: numbers that are not finite in f16: token_embd.weight (1)\n");
}

TEST(ConvertProgram, IntoItsOwnFolderIsRefused) {
  const std::filesystem::path model = test::scratch() / "itself";
  std::filesystem::copy(kGoldens + "gpt2", model);
  test::expect_refused({"convert", model.string(), "-o", model.string()},
                       "-o is " + model.string() +
                           ", the folder of the model that is read, expected a new folder, or an "
                           "empty one");
}

TEST(ConvertProgram, LeavesAFolderAloneThatHoldsSomething) {
  const std::filesystem::path out = test::scratch() / "not-empty";
  std::filesystem::create_directories(out);
  std::ofstream(out / "config.json") << "mine";
  test::expect_refused({"convert", kGoldens + "llama", "-o", out.string()},
                       "-o is " + out.string() +
                           ", a folder with files in it, expected a new folder, or an empty one");
  EXPECT_EQ(test::content(out / "config.json"), "mine");
  const std::string file = (out / "config.json").string();
  test::expect_refused({"convert", kGoldens + "llama", "-o", file},
                       "-o is " + file + ", a file, expected a new folder, or an empty one");
}

TEST(ConvertProgram, FillsAnEmptyFolder) {
  const std::filesystem::path out = test::scratch() / "empty";
  std::filesystem::create_directories(out);
  EXPECT_EQ(heed({"convert", kGoldens + "llama", "-o", out.string()}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(out / "config.json"));
}

TEST(ConvertProgram, LeavesNothingHalfWritten) {
  const std::filesystem::path out = test::scratch() / "half";
  const auto convert = [&] { return heed({"convert", kGoldens + "llama", "-o", out.string()}); };
  {
    const SmallFiles scope(4096);
    EXPECT_EQ(convert().status, 1);
    EXPECT_FALSE(std::filesystem::exists(out));
    std::filesystem::create_directories(out);
    EXPECT_EQ(convert().status, 1);
    EXPECT_TRUE(std::filesystem::is_empty(out));
  }
  EXPECT_EQ(convert().status, 0);
}

TEST(ConvertProgram, NamesItsArgument) {
  EXPECT_THAT(heed({"convert", "nope", "-o", "x"}).error,
              testing::StartsWith(
                  "heed convert: MODEL is 'nope', neither a folder nor a known name, expected "));
  EXPECT_THAT(heed({"models", "nope"}).error,
              testing::StartsWith(
                  "heed models: NAME is 'nope', neither a folder nor a known name, expected "));
}

TEST(ModelsProgram, TellsTheShapeOfEachFamily) {
  ::setenv("HEED_MODELS", kGoldens.c_str(), 1);
  const Answer text = heed({"models"});
  const Answer json = heed({"models", "--json"});
  ::unsetenv("HEED_MODELS");
  EXPECT_THAT(text.out,
              HasSubstr("Qwen3 (llama): 0.01 M parameters in f32, 2 layers x 4 heads on 2 kv"));
  EXPECT_THAT(text.out, HasSubstr("Marian (seq2seq): 0.02 M parameters in f32, encoder 2 layers"));
  for (const auto& model : nlohmann::json::parse(json.out))
    if (model["name"] == "bert") {
      EXPECT_EQ(model["family"], "bert");
      EXPECT_EQ(model["heads"], 3);
      EXPECT_EQ(model["positions"], 24);
    }
}

}  // namespace
}  // namespace heed
