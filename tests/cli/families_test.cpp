// heed check model, convert and models as a user runs them, on the committed models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "heed/io/safetensors.h"
#include "support/places.h"

namespace heed {
namespace {

using test::Answer;
using test::heed;
using testing::HasSubstr;

const std::string kGoldens = std::string(HEED_SOURCE_DIR) + "/tests/models/golden/";

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

TEST(CheckModelProgram, AnotherModelFails) {
  const std::filesystem::path folder = test::scratch() / "mixed_up";
  std::filesystem::copy(kGoldens + "gpt2", folder);
  std::filesystem::copy_file(kGoldens + "llama/golden.safetensors", folder / "golden.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  const Answer answer = heed({"check", "model", folder.string()});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out, HasSubstr("failed   logits"));
}

TEST(ConvertProgram, WritesTheSameModelInAnotherType) {
  const std::filesystem::path out = test::scratch() / "converted";
  const Answer answer = heed({"convert", kGoldens + "llama", "-o", out.string(), "--dtype", "f16"});
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, out.string() + ": Qwen3 in f16\n");
  const Safetensors written = Safetensors::open(out / "model.safetensors");
  const Safetensors given = Safetensors::open(kGoldens + "llama/model.safetensors");
  EXPECT_EQ(written.names(), given.names());
  EXPECT_EQ(written.tensor("model.norm.weight").dtype(), DType::kF16);
}

TEST(ModelsProgram, TellsTheShapeOfEachFamily) {
  ::setenv("HEED_MODELS", kGoldens.c_str(), 1);
  const Answer text = heed({"models"});
  const Answer json = heed({"models", "--json"});
  ::unsetenv("HEED_MODELS");
  EXPECT_THAT(text.out, HasSubstr("Qwen3 (llama): 0.01 M parameters, 2 layers x 4 heads on 2 kv"));
  EXPECT_THAT(text.out, HasSubstr("Marian (seq2seq): 0.02 M parameters, encoder 2 layers"));
  for (const auto& model : nlohmann::json::parse(json.out))
    if (model["name"] == "bert") {
      EXPECT_EQ(model["family"], "bert");
      EXPECT_EQ(model["heads"], 3);
      EXPECT_EQ(model["positions"], 24);
    }
}

}  // namespace
}  // namespace heed
