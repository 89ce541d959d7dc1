#include <gtest/gtest.h>

#include <cmath>

#include "train/adamw.h"

namespace heed {
namespace {

constexpr Schedule kSchedule{.peak = 8, .last = 2, .warmup = 3, .steps = 12};

TEST(Schedule, RisesLinearlyInTheWarmUp) {
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 0), 2);
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 1), 4);
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 2), 6);
}

TEST(Schedule, FallsAlongACosine) {
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 3), 8);
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 5), 2 + 6 * (0.5 + 0.25 * std::sqrt(2)));
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 7), 5);
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 11), 2);
}

TEST(Schedule, FallsAlongALine) {
  Schedule schedule = kSchedule;
  schedule.form = "linear";
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 3), 8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 7), 5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 11), 2);
}

TEST(Schedule, StaysAndThenFallsOverItsDecay) {
  Schedule schedule = kSchedule;
  schedule.form = "constant";
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2), 6);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10), 8);
  schedule.decay = 4;
  schedule.last = 0;
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 7), 8);  // 4 steps before the last
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9), 4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 11), 0);
}

TEST(Schedule, FallsWithTheRootOfTheStep) {
  const Schedule schedule = {
      .form = "inverse-sqrt", .peak = 8, .last = 1, .warmup = 4, .steps = 101, .decay = 36};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4), 8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 16), 4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 64), 2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 82), 1.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 100), 1);
}

// As a run sees it: 20 steps are 0 to 19.
TEST(Schedule, TheLastStepHasTheFinalRate) {
  for (const char* form : {"cosine", "linear"})
    EXPECT_DOUBLE_EQ(
        learning_rate({.form = form, .peak = 1e-3, .last = 1e-4, .warmup = 2, .steps = 20}, 19),
        1e-4);
  for (const char* form : {"constant", "inverse-sqrt"})
    EXPECT_DOUBLE_EQ(
        learning_rate(
            {.form = form, .peak = 1e-3, .last = 1e-4, .warmup = 2, .steps = 20, .decay = 5}, 19),
        1e-4);
  EXPECT_DOUBLE_EQ(learning_rate({.peak = 5, .last = 1, .warmup = 0, .steps = 1}, 0), 1);
}

TEST(Schedule, AWarmUpAsLongAsTheRunOnlyRises) {
  EXPECT_DOUBLE_EQ(learning_rate({.peak = 5, .last = 1, .warmup = 4, .steps = 4}, 3), 4);
}

}  // namespace
}  // namespace heed
