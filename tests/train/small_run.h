// A run small enough to be trained in a moment, for tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "heed/train.h"
#include "support/scratch.h"
#include "support/training.h"

namespace heed::test {

class SmallRun : public testing::Test {
 protected:
  SmallRun() {
    write_file(scratch_ / "text.txt", counting_text(4000));
    config_.data = {(scratch_ / "text.txt").string()};
    config_.layers = 2;
    config_.heads = 2;
    config_.width = 16;
    config_.block = 16;
    config_.batch = 4;
    config_.steps = 20;
    config_.warmup = 3;
    config_.evaluate_every = 10;
    config_.evaluate_sequences = 8;
    config_.checkpoint_every = 5;
  }

  TrainResult run(const std::string& folder, bool resume = false) {
    return train(
        {.config = config_, .folder = scratch_ / folder, .resume = resume, .stopped = &stopped_},
        recorder_);
  }
  // Stops after `step`, like Ctrl-C.
  void run_until(std::int64_t step, const std::string& folder) {
    recorder_.stop_at = step;
    EXPECT_THROW(run(folder), Error);
    recorder_.stop_at = -1;
  }
  std::string checkpoint(const std::string& folder, int step) {
    return (scratch_ / folder / fmt::format("checkpoint-{}.safetensors", step)).string();
  }

  Scratch scratch_;
  TrainConfig config_;
  Recorder recorder_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace heed::test
