#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

constexpr Schedule kSchedule{.peak = 8, .last = 2, .warmup = 3, .steps = 11};

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

TEST(Schedule, AWarmUpAsLongAsTheRunOnlyRises) {
  EXPECT_DOUBLE_EQ(learning_rate({.peak = 5, .last = 1, .warmup = 4, .steps = 4}, 3), 4);
}

}  // namespace
}  // namespace heed
