// Several ranks that train one model: the losses of one process, whichever rank stops or fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/thread_ranks.h"
#include "train/task_run.h"

namespace heed {
namespace {

using test::loss_rows;

class TrainRanks : public test::TaskRun {
 protected:
  TrainRanks() { set_thread_count(1); }
  ~TrainRanks() override { set_thread_count(0); }

  // On each rank; the first one is heard.
  TrainResult run_on(int count, const std::string& folder, bool resume = false) {
    TrainResult of_first;
    std::vector<test::Recorder> others(static_cast<std::size_t>(count));
    for (test::Recorder& other : others) other.stop_at = -2;
    test::on_ranks(count, [&](Ranks& ranks) {
      const auto rank = static_cast<std::size_t>(ranks.rank());
      test::Recorder& recorder = rank == 0 ? recorder_ : others[rank];
      const TrainConfig config = of_rank ? of_rank(ranks.rank()) : config_;
      const TrainResult result = train({.config = config,
                                        .folder = scratch_ / folder,
                                        .resume = resume,
                                        .stopped = &stopped_,
                                        .ranks = &ranks},
                                       recorder);
      if (rank == 0) of_first = result;
      EXPECT_TRUE(rank == 0 || (recorder.notes.empty() && recorder.last.step == 0));
    });
    return of_first;
  }

  void expect_losses_of_one(const std::string& task) {
    const TrainResult one = run(task + "1");
    for (const int count : {2, 3}) {
      const std::string folder = fmt::format("{}{}", task, count);
      const TrainResult many = run_on(count, folder);
      EXPECT_NEAR(many.loss, one.loss, 1e-4 * one.loss) << folder;
      EXPECT_NEAR(many.validation_loss.value_or(0), one.validation_loss.value_or(1),
                  1e-4 * one.loss);
      EXPECT_TRUE(std::filesystem::exists(many.model / "card.md"));
      run_on(count, folder + "again");
      EXPECT_EQ(loss_rows(scratch_ / (folder + "again")), loss_rows(scratch_ / folder));
    }
  }

  std::function<TrainConfig(int)> of_rank;
};

TEST_F(TrainRanks, LossesAreThoseOfOneProcessWithinRoundingAndTheSameEachTime) {
  config_.dropout = 0.1;
  config_.attention_dropout = 0.1;
  expect_losses_of_one("lm");
}

TEST_F(TrainRanks, SoTheyAreForEveryTask) {
  config_.dropout = 0.1;
  for_each_task([&](const std::string& task) { expect_losses_of_one(task); });
  config_.data = {};
  config_.task = "classify";
  config_.generate = "reverse";
  config_.generate_length = 10;
  expect_losses_of_one("reverse");
}

TEST_F(TrainRanks, AnEvaluationDoesNotDependOnTheirNumber) {
  config_.learning_rate = 0;
  config_.final_learning_rate = 0;
  config_.steps = 10;
  const TrainResult one = run("one");
  EXPECT_EQ(run_on(3, "three").validation_loss, one.validation_loss);
}

TEST_F(TrainRanks, ARunGoesOnWithTheSameLosses) {
  run_on(2, "whole");
  recorder_.stop_at = 13;
  EXPECT_HEED_ERROR(run_on(2, "parts"), ErrorCode::kInterrupted,
                    fmt::format("train: stopped after step 13; {} is kept (resume goes on)",
                                checkpoint("parts", 13)));
  recorder_.stop_at = -1;
  std::filesystem::remove(checkpoint("parts", 13));  // as if killed: goes on from step 10
  run_on(2, "parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
  EXPECT_EQ(loss_rows(scratch_ / "parts").size(), 21U);
}

TEST_F(TrainRanks, AnotherNumberOfThemIsTold) {
  run_until(6, "a");
  run_on(2, "a", /*resume=*/true);
  ASSERT_EQ(recorder_.notes.size(), 2U);
  EXPECT_EQ(recorder_.notes[0],
            "the run had 1 ranks, now 2: losses may differ in their last digits");
}

TEST_F(TrainRanks, AStopInsideOfAStepLeavesItOnAll) {
  run_on(2, "whole");
  recorder_.at_step = [&](std::int64_t step) { stopped_ = step == 7; };
  EXPECT_HEED_ERROR(run_on(2, "parts"), ErrorCode::kInterrupted,
                    fmt::format("train: stopped after step 7; {} is kept (resume goes on)",
                                checkpoint("parts", 7)));
  stopped_ = false;
  run_on(2, "parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainRanks, WhatOneOfThemCannotReadEndsAll) {
  of_rank = [&](int rank) {
    TrainConfig config = config_;
    if (rank == 1) config.data = {at("nowhere.txt")};
    return config;
  };
  EXPECT_HEED_ERROR(run_on(3, "a"), ErrorCode::kNotFound,
                    fmt::format("train: {}: no such file or folder", at("nowhere.txt")));
  write_file(scratch_ / "other.txt", test::counting_text(4100));
  of_rank = [&](int rank) {
    TrainConfig config = config_;
    if (rank == 2) config.data = {at("other.txt")};
    return config;
  };
  EXPECT_HEED_ERROR(run_on(3, "b"), ErrorCode::kInvalidArgument,
                    "train: data is another text on rank 2 than on rank 0");
}

TEST_F(TrainRanks, ANumberThatIsNotFiniteEndsAll) {
  config_.learning_rate = 1e37;
  config_.warmup = 0;
  config_.checkpoint_every = 1;
  EXPECT_HEED_ERROR(run_on(2, "a"), ErrorCode::kFailed,
                    fmt::format("train: the loss is nan at step 2: the gradient of "
                                "transformer.wte.weight is not finite; last good checkpoint: {}",
                                checkpoint("a", 1)));
}

TEST_F(TrainRanks, EachOfThemNeedsASequence) {
  config_.batch = 2;
  EXPECT_HEED_ERROR(run_on(3, "a"), ErrorCode::kInvalidArgument,
                    "train: batch is 2 sequences a step, expected at least 3, one for each rank");
}

TEST_F(TrainRanks, AFolderThatHoldsARunIsLeftAsItIs) {
  run("a");
  EXPECT_HEED_ERROR(run_on(2, "a"), ErrorCode::kInvalidArgument,
                    fmt::format("train: {}: holds a run already; continue it with --resume (in "
                                "Python resume=True), or choose another folder",
                                at("a")));
}

}  // namespace
}  // namespace heed
