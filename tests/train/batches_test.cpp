// Training on token ids that the caller gives in batches.
#include <gtest/gtest.h>

#include "heed/model.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace heed {
namespace {

class Batches : public test::SmallRun {
 protected:
  Batches() {
    config_.data = {};
    config_.vocabulary = 11;
    given_.next = [this] { return counting(taken_++); };
    given_.validation = {counting(100), counting(101)};
  }
  // Rows of different lengths that count up modulo 11.
  TokenRows counting(std::int64_t number) const {
    TokenRows rows(static_cast<std::size_t>(config_.batch));
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::int64_t t = 0; t < config_.block + 1 - static_cast<std::int64_t>(r); ++t)
        rows[r].push_back((number * 3 + static_cast<std::int64_t>(r) + t) % 11);
    return rows;
  }
  TrainResult run(const std::string& folder, bool resume = false) {
    taken_ = 0;
    return train(
        {.config = config_, .folder = scratch_ / folder, .resume = resume, .batches = &given_},
        recorder_);
  }
  void expect_refused(const std::string& folder, const char* message) {
    EXPECT_HEED_ERROR(run(folder), ErrorCode::kInvalidArgument, message);
  }

  TokenBatches given_;
  std::int64_t taken_ = 0;
};

TEST_F(Batches, TeachAModelWithoutATokenizer) {
  config_.learning_rate = 0.02;
  config_.steps = 60;
  config_.accumulate = 2;
  const TrainResult result = run("run");
  EXPECT_EQ(taken_, 120);
  EXPECT_LT(result.validation_loss.value_or(9), 1);
  EXPECT_EQ(load_model(result.model).model->info().vocabulary, 11);
}

TEST_F(Batches, AreReadAgainByAResumedRun) {
  config_.dropout = 0.1;
  run("whole");
  recorder_.stop_at = 13;
  EXPECT_THROW(run("parts"), Error);
  recorder_.stop_at = -1;
  run("parts", /*resume=*/true);
  EXPECT_EQ(taken_, 20);
  EXPECT_EQ(test::loss_rows(scratch_ / "parts"), test::loss_rows(scratch_ / "whole"));
}

TEST_F(Batches, WithWrongIdsOrShapesAreRefusedByTheirPlace) {
  given_.next = [] { return TokenRows{{0, 1}, {2, 3, 11}, {4, 5}, {6, 7}}; };
  expect_refused("id",
                 "train: batches[0] is 11 in row 1, column 2, expected ids from 0 to 10, the "
                 "model's vocabulary");
  given_.next = [] { return TokenRows{{0, 1}, {2}, {4, 5}, {6, 7}}; };
  expect_refused("short",
                 "train: batches[0] is 1 token in row 1, expected 2 to 17 (block + 1), as each "
                 "token's target is the next one");
  given_.next = [] { return TokenRows{{0, 1}}; };
  expect_refused("rows",
                 "train: batches[0] is 1 row, expected 4 (batch) in every batch: drop a last one "
                 "that is smaller");
  given_.validation = {{{0, -1}}};
  expect_refused("validation",
                 "train: validation_batches[0] is -1 in row 0, column 1, expected ids from 0 to "
                 "10, the model's vocabulary");
}

TEST_F(Batches, ThatBecomeWrongLoseNoStep) {
  given_.next = [this] { return taken_ == 7 ? TokenRows{} : counting(taken_++); };
  expect_refused("run",
                 "train: batches[7] is 0 rows, expected 4 (batch) in every batch: drop a last one "
                 "that is smaller");
  EXPECT_TRUE(std::filesystem::exists(checkpoint("run", 7)));
}

TEST_F(Batches, StandAloneWithoutKeysAboutTexts) {
  config_.data = {"a.txt"};
  expect_refused("data", "train: data is given beside batches, expected one of them");
  config_.data = {};
  config_.task = "mlm";
  expect_refused(
      "task", "train: task is \"mlm\", expected \"lm\" with batches, which hold token ids alone");
  config_.task = "lm";
  config_.tokenizer = "byte-bpe";
  expect_refused(
      "tokenizer",
      "train: tokenizer is \"byte-bpe\", expected a tokenizer's file, as batches hold no "
      "text");
}

}  // namespace
}  // namespace heed
