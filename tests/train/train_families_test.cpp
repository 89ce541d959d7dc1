// Training of a family named in the run's configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "heed/model.h"
#include "heed/train.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "support/training.h"

namespace heed {
namespace {

class TrainLlama : public testing::Test {
 protected:
  TrainLlama() {
    write_file(scratch_ / "tiny.txt", "the quick brown fox jumps over a lazy dog.");
    config_.data = {(scratch_ / "tiny.txt").string()};
    config_.model = R"({"model_type": "llama", "num_key_value_heads": 1})";
    config_.validation = 0;
    config_.layers = 2;
    config_.heads = 2;
    config_.width = 32;
    config_.block = 16;
    config_.batch = 4;
    config_.steps = 300;
    config_.learning_rate = 1e-2;
  }

  TrainResult run() { return train({.config = config_, .folder = scratch_ / "run"}, recorder_); }

  test::Scratch scratch_;
  TrainConfig config_;
  test::Recorder recorder_;
};

TEST_F(TrainLlama, LearnsATinyTextByHeart) {
  EXPECT_LT(run().loss, 0.1);
  const LoadedModel loaded = load_model(scratch_ / "run/model");
  EXPECT_EQ(loaded.model->info().title, "Llama");
  EXPECT_EQ(loaded.model->info().kv_heads, 1);
  EXPECT_EQ(loaded.model->info().positions, 16);
}

// transformers takes 0 where the key is left out, and 0 is a character of the text.
TEST_F(TrainLlama, AGemma2IsWrittenWithoutATokenThatPads) {
  config_.model = R"({"model_type": "gemma2"})";
  config_.steps = 1;
  run();
  EXPECT_THAT(read_file(scratch_ / "run/model/config.json"),
              testing::ContainsRegex("\"pad_token_id\": *null"));
}

TEST_F(TrainLlama, IsTrainedOnWithMorePositions) {
  const TrainResult first = run();
  std::filesystem::rename(scratch_ / "run", scratch_ / "first");
  config_.start_from = (scratch_ / "first/model").string();
  config_.model = R"({"max_position_embeddings": 24})";
  config_.block = 24;
  config_.steps = 1;
  config_.learning_rate = 0;
  EXPECT_NEAR(run().loss, first.loss, 0.5);
  EXPECT_EQ(load_model(scratch_ / "run/model").model->info().positions, 24);
}

TEST_F(TrainLlama, WhatTheFamilyDoesNotHaveIsNamed) {
  config_.initial_positions = "sinusoidal";
  EXPECT_HEED_ERROR(run(), ErrorCode::kInvalidArgument,
                    "train: initial_positions is \"sinusoidal\", expected \"random\": Llama has no "
                    "table of positions");
  config_.initial_positions = "random";
  config_.model = R"({"model_type": "llama", "num_kv_heads": 1})";
  EXPECT_HEED_ERROR(run(), ErrorCode::kInvalidArgument,
                    "train: model: unknown key \"num_kv_heads\"; the nearest that llama has is "
                    "\"num_key_value_heads\"");
  config_.model = R"({"model_type": "bert"})";
  EXPECT_HEED_ERROR(run(), ErrorCode::kUnsupported,
                    "train: model: line 1, column 15: model_type is 'bert', expected a family that "
                    "predicts the next token");
}

}  // namespace
}  // namespace heed
