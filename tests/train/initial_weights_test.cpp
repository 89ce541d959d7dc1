#include "train/initial_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "heed/model.h"
#include "models/gguf_save.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/places.h"

namespace heed {
namespace {

// Values of size 0.02, then sinusoids.
Parameter table_of(std::int64_t positions, std::int64_t width) {
  Parameter table{.name = "p", .value = Tensor::empty({positions, width})};
  for (std::int64_t i = 0; i < positions * width; ++i)
    table.value.data<float>()[i] = i % 2 == 0 ? 0.02F : -0.02F;
  start_sinusoidal(table);
  return table;
}

// Dot product of two rows.
double dot(const Tensor& table, std::int64_t p, std::int64_t q) {
  const std::int64_t width = table.dim(1);
  const float* values = table.data<float>();
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += values[p * width + c] * values[q * width + c];
  return sum;
}

TEST(InitialPositions, AreAsLargeAsRandomOnes) {
  const Parameter table = table_of(256, 64);
  for (std::int64_t p = 0; p < 256; ++p)
    EXPECT_NEAR(std::sqrt(dot(table.value, p, p) / 64), 0.02, 1e-7);
}

TEST(InitialPositions, LookAlikeByTheirDistanceAlone) {
  const Parameter table = table_of(256, 64);
  for (std::int64_t p = 1; p < 255; ++p) {
    EXPECT_NEAR(dot(table.value, p, p + 1), dot(table.value, 0, 1), 1e-7);
    EXPECT_LT(dot(table.value, 0, p), dot(table.value, 0, 0));
  }
}

TEST(InitialPositions, OfAnOddWidthFillIt) {
  const Parameter table = table_of(2, 3);
  EXPECT_EQ(table.value.data<float>()[0], 0);
  EXPECT_GT(table.value.data<float>()[2], 0.02F);  // cos 0
}

std::unique_ptr<Model> model_of(int width, std::uint64_t seed) {
  return make_model(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "vocab_size": 5,
    "n_positions": 4, "n_embd": )" +
                        std::to_string(width) + "}",
                    seed);
}

TEST(StartFrom, TakesEveryWeightOfAFolder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "start_from";
  const auto saved = model_of(8, 1);
  save_model(folder, *saved, nullptr, DType::kF32);
  const auto model = model_of(8, 2);
  start_from(folder, *model);
  const auto wanted = saved->parameters();
  const auto found = model->parameters();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    for (std::int64_t e = 0; e < wanted[i]->value.element_count(); ++e)
      ASSERT_EQ(found[i]->value.data<float>()[e], wanted[i]->value.data<float>()[e]);
}

void expect_start_from(const std::filesystem::path& given) {
  const LoadedModel loaded = load_model(given);
  TrainConfig config;
  config.start_from = given.string();
  config.block = 8;
  const auto model =
      new_model(config, {.vocabulary = loaded.model->info().vocabulary, .positions = config.block});
  const auto wanted = loaded.model->parameters();
  const auto found = model->parameters();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(test::same_bits(found[i]->value, wanted[i]->value)) << wanted[i]->name;
}

TEST(StartFrom, TakesTheWeightsOfAGgufFile) {
  const auto file = std::filesystem::path(testing::TempDir()) / "start_from.gguf";
  save_gguf(file, load_model(find_model("tales")), "Q8_0");
  expect_start_from(file);
}

TEST(StartFrom, TakesTheWeightsThatAnAdapterChanged) {
  expect_start_from(std::filesystem::path(HEED_SOURCE_DIR) / "tests/models/golden/lora/llama");
}

// The default of 64 tokens is more than the folder's 4 positions.
TEST(StartFrom, ARunWithoutABlockHasThePositionsOfTheFolder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "start_from_short";
  save_model(folder, *model_of(8, 1), nullptr, DType::kF32);
  TrainConfig config;
  config.start_from = folder.string();
  EXPECT_EQ(settled(config).block, 4);
  config.block = 3;
  EXPECT_EQ(settled(config).block, 3);
  config.block = 6;
  EXPECT_EQ(settled(config).block, 6);  // which is refused by its name
}

TEST(StartFrom, RefusesAnotherShape) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "start_from_wide";
  save_model(folder, *model_of(12, 1), nullptr, DType::kF32);
  const auto model = model_of(8, 2);
  EXPECT_HEED_ERROR(
      start_from(folder, *model), ErrorCode::kInvalidArgument,
      "train: start_from is " + folder.string() +
          " with transformer.wte.weight [5, 12], expected transformer.wte.weight [5, 8]");
}

}  // namespace
}  // namespace heed
