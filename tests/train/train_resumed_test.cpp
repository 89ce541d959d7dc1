// Runs that stop, are stopped, and go on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heed/io/safetensors.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace heed {
namespace {

using test::loss_rows;
using TrainResumed = test::SmallRun;

TEST_F(TrainResumed, AResumedRunFollowsTheSameLossesBitForBit) {
  config_.dropout = 0.1;
  config_.attention_dropout = 0.1;
  run("whole");
  run_until(13, "parts");
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
  EXPECT_EQ(loss_rows(scratch_ / "parts").size(), 21U);
}

TEST_F(TrainResumed, AStoppedRunSaysWhatIsKept) {
  recorder_.stop_at = 7;
  EXPECT_HEED_ERROR(
      run("a"), ErrorCode::kInterrupted,
      fmt::format("train: stopped after step 7; {} is kept (resume goes on)", checkpoint("a", 7)));
}

TEST_F(TrainResumed, AStopInsideOfAStepKeepsTheStepBefore) {
  run("whole");
  recorder_.at_step = [&](std::int64_t step) { stopped_ = step == 7; };  // heard by step 8
  EXPECT_HEED_ERROR(run("parts"), ErrorCode::kInterrupted,
                    fmt::format("train: stopped after step 7; {} is kept (resume goes on)",
                                checkpoint("parts", 7)));
  stopped_ = false;
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainResumed, AStepThatHasNoRowYetGetsItWhenTheRunGoesOn) {
  config_.checkpoint_every = 1;
  run("whole");
  run_until(10, "parts");
  const std::string path = checkpoint("parts", 10);
  const Safetensors file = Safetensors::open(path);
  std::string state = file.metadata().at("heed_train_state");
  const std::string recorded = "\"recorded\":true";
  state.replace(state.find(recorded), recorded.size(), "\"recorded\":false");
  std::vector<Tensor> kept;
  std::vector<NamedView> tensors;
  for (const std::string& name : file.names()) kept.push_back(Tensor::copy_of(file.tensor(name)));
  for (std::size_t i = 0; i < kept.size(); ++i) tensors.push_back({file.names()[i], kept[i]});
  write_safetensors(path, tensors, {{"heed_train_state", state}});
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainResumed, AResumedRunMayNotChangeWhatDecidesTheLosses) {
  run_until(6, "a");
  config_.learning_rate = 0.5;
  EXPECT_HEED_ERROR(run("a", true), ErrorCode::kInvalidArgument,
                    "train: learning_rate is 0.5, expected 0.001 as in the run to resume");
}

TEST_F(TrainResumed, AResumedRunMayNotChangeItsText) {
  run_until(6, "a");
  write_file(scratch_ / "text.txt", test::counting_text(4100));
  EXPECT_HEED_ERROR(run("a", true), ErrorCode::kInvalidArgument,
                    "train: data is not what the run to resume was started with (its tokens "
                    "differ)");
}

TEST_F(TrainResumed, AResumedRunMayChangeWhenItKeepsCheckpoints) {
  run_until(6, "a");
  config_.checkpoint_every = 7;
  run("a", true);
  EXPECT_TRUE(std::filesystem::exists(checkpoint("a", 14)));
}

TEST_F(TrainResumed, ATornCheckpointIsPassedOver) {
  run("whole");
  run_until(13, "torn");
  std::filesystem::resize_file(checkpoint("torn", 13), 1000);
  run("torn", true);
  ASSERT_EQ(recorder_.notes.size(), 2U);
  EXPECT_EQ(recorder_.notes[1], "goes on after step 10 (" + checkpoint("torn", 10) + ")");
  EXPECT_EQ(loss_rows(scratch_ / "torn"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainResumed, AResumedRunHasEachSampleOnce) {
  config_.sample_every = 2;
  config_.sample_prompt = "a";
  run("whole");
  run_until(13, "parts");
  std::filesystem::remove(checkpoint("parts", 13));  // as if killed: goes on from step 10
  run("parts", /*resume=*/true);
  EXPECT_EQ(read_file(scratch_ / "parts" / "samples.txt"),
            read_file(scratch_ / "whole" / "samples.txt"));
}

}  // namespace
}  // namespace heed
