// Runs that take every example once an epoch, and validation on files of their own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "train/small_run.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {
namespace {

class Epochs : public test::SmallRun {
 protected:
  Epochs() {
    config_.steps = TrainConfig().steps;
    config_.epochs = 2;
    config_.warmup = 1;
  }
};

TEST_F(Epochs, AnEpochTakesEachPieceOfTheTextOnce) {
  const TextData data = load_text_data(config_);
  const auto task = make_lm_task(config_, load_text_data(config_));
  const std::int64_t count = task->epoch_examples();
  EXPECT_EQ(count, (std::ssize(data.train) - 1) / config_.block);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::multiset<std::vector<TokenId>> due, found;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto begin = data.train.begin() + i * config_.block;
      due.emplace(begin, begin + config_.block);
      Example example;
      task->make(epoch * count + i, example);
      found.insert(example.ids);
    }
    EXPECT_EQ(found, due);
  }
}

TEST_F(Epochs, DecideTheSteps) {
  const auto task = make_lm_task(config_, load_text_data(config_));
  const TrainResult result = run("run");
  EXPECT_EQ(result.steps, (2 * task->epoch_examples() + config_.batch - 1) / config_.batch);
}

TEST_F(Epochs, AStepMayNotTakeMoreThanThereIs) {
  config_.batch = 1000;
  const std::int64_t all = 2 * make_lm_task(config_, load_text_data(config_))->epoch_examples();
  EXPECT_HEED_ERROR(make_task(config_), ErrorCode::kInvalidArgument,
                    fmt::format("train: batch is 1000, expected at most {} examples in a step "
                                "(batch x accumulate), all epochs together",
                                all));
}

TEST_F(Epochs, AResumedRunHasTheSameLosses) {
  run("whole");
  run_until(10, "parts");
  run("parts", /*resume=*/true);
  EXPECT_EQ(test::loss_rows(scratch_ / "parts"), test::loss_rows(scratch_ / "whole"));
}

TEST_F(Epochs, WhatWouldBeWithoutEffectIsRefused) {
  const auto expect = [&](const char* message) {
    EXPECT_HEED_ERROR(check(config_), ErrorCode::kInvalidArgument, message);
  };
  config_.steps = 20;
  expect("train: steps is 20, expected none beside epochs, which decide them");
  config_.steps = TrainConfig().steps;
  config_.repeats = 0.5;
  expect("train: epochs is 2, expected 0: repeats stand in the place of examples");
  config_.repeats = 0;
  config_.generate = "copy";
  config_.data = {};
  expect("train: epochs is 2, expected 0: what is generated has no end");
}

TEST_F(Epochs, AFileOfItsOwnIsForValidation) {
  write_file(scratch_ / "other.txt", test::counting_text(500));
  config_.validation_data = {(scratch_ / "other.txt").string()};
  const TextData data = load_text_data(config_);
  EXPECT_EQ(data.train.size(), std::filesystem::file_size(scratch_ / "text.txt"));
  EXPECT_EQ(data.validation.size(), std::filesystem::file_size(scratch_ / "other.txt"));
  config_.validation = 0.2;
  EXPECT_HEED_ERROR(check(config_), ErrorCode::kInvalidArgument,
                    "train: validation is 0.2, expected none beside validation_data, which takes "
                    "its place");
}

}  // namespace
}  // namespace heed
