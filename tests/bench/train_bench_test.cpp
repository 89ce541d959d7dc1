#include "bench/train_bench.h"

#include <gtest/gtest.h>

#include "heed/threads.h"

namespace heed {
namespace {

TrainConfig small_config() {
  TrainConfig config;
  config.data = {"none"};
  config.layers = 2;
  config.heads = 2;
  config.width = 32;
  config.block = 32;
  config.dropout = 0.1;
  config.batch = 6;
  return config;
}

class TrainBench : public testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }
};

TEST_F(TrainBench, AStepTakesNoMemoryFromTheSystem) {
  set_thread_count(1);  // several threads may meet at a new peak later
  TrainConfig config = small_config();
  for (const char* precision : {"f32", "bf16"})
    for (const char* recompute : {"none", "attention", "block"}) {
      config.precision = precision;
      config.recompute = recompute;
      EXPECT_EQ(time_training(config, 50).allocations, 0) << precision << " " << recompute;
    }
}

TEST_F(TrainBench, TheRowsOfAStepAreSharedAmongThreads) {
  set_thread_count(3);
  EXPECT_EQ(time_training(small_config(), 50).shares, 3);
}

TEST_F(TrainBench, AStepWithFewerRowsThanThreadsIsNotCut) {
  set_thread_count(8);
  TrainConfig one = small_config();
  one.batch = 1;
  EXPECT_EQ(time_training(one, 50).shares, 1);
}

TEST_F(TrainBench, ThePartsOfAStepAreNotMoreThanTheStep) {
  set_thread_count(1);
  const TrainTiming timing = time_training(small_config(), 50);
  EXPECT_GT(timing.forward_seconds, 0);
  EXPECT_GT(timing.backward_seconds, 0);
  EXPECT_GT(timing.optimizer_seconds, 0);
}

}  // namespace
}  // namespace heed
