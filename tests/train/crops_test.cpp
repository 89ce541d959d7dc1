#include "train/crops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace heed {
namespace {

TEST(Crops, TargetsAreTheIdsOnePlaceFurther) {
  const std::vector<TokenId> tokens = {10, 11, 12, 13, 14, 15};
  Example example;
  crop(tokens, 2, 3, example);
  EXPECT_EQ(example.ids, (std::vector<TokenId>{12, 13, 14}));
  EXPECT_EQ(example.targets, (std::vector<TokenId>{13, 14, 15}));
}

TEST(Crops, RandomOnesReachEveryBeginAndNoOther) {
  std::vector<int> hits(5);
  for (std::int64_t i = 0; i < 1000; ++i)
    ++hits.at(static_cast<std::size_t>(random_crop(1, i, 9, 4)));
  EXPECT_GT(*std::ranges::min_element(hits), 150);
}

TEST(Crops, RandomOnesDependOnTheSeed) {
  int same = 0;
  for (std::int64_t i = 0; i < 100; ++i)
    same += static_cast<int>(random_crop(1, i, 1000000, 4) == random_crop(2, i, 1000000, 4));
  EXPECT_LE(same, 1);
}

TEST(Shuffled, TakesEachExampleOnceAnEpoch) {
  for (const std::int64_t count : {1, 2, 3, 5, 16, 17, 1000}) {
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<bool> taken(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i)
        taken.at(static_cast<std::size_t>(shuffled(7, epoch * count + i, count))) = true;
      EXPECT_EQ(std::ranges::count(taken, true), count);
    }
  }
}

TEST(Shuffled, HasAnotherOrderInEachEpochAndOfEachSeed) {
  constexpr std::int64_t kCount = 1000;
  int rising = 0, same_epoch = 0, same_seed = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    rising += static_cast<int>(shuffled(7, i, kCount) == i);
    same_epoch += static_cast<int>(shuffled(7, i, kCount) == shuffled(7, kCount + i, kCount));
    same_seed += static_cast<int>(shuffled(7, i, kCount) == shuffled(8, i, kCount));
  }
  EXPECT_LT(rising, 10);
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
}

TEST(Crops, EvenOnesGoFromTheFirstTokenToTheLast) {
  EXPECT_EQ(even_crop(0, 3, 21, 4), 0);
  EXPECT_EQ(even_crop(1, 3, 21, 4), 8);
  EXPECT_EQ(even_crop(2, 3, 21, 4), 16);  // ids 16..19, targets 17..20
}

TEST(Crops, ARepeatedOneBeginsAgainAfterItsPeriod) {
  const std::vector<TokenId> tokens = {10, 11, 12, 13, 14, 15};
  Example example;
  repeated_crop(tokens, 1, 5, 2, example);
  EXPECT_EQ(example.ids, (std::vector<TokenId>{11, 12, 11, 12, 11}));
  EXPECT_EQ(example.targets, (std::vector<TokenId>{12, 11, 12, 11, 12}));
}

TEST(Crops, AsManyRepeatAsTheShareSaysWithPeriodsInBounds) {
  int repeated = 0;
  for (std::int64_t i = 0; i < 10000; ++i) {
    const auto period = repeat_period(1, i, 0.25, 64);
    if (!period) continue;
    ++repeated;
    EXPECT_GE(*period, 8);
    EXPECT_LE(*period, 32);
  }
  EXPECT_NEAR(repeated, 2500, 200);
}

TEST(Crops, NoneRepeatsWhereTheShareIsZero) {
  for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(repeat_period(1, i, 0, 64), std::nullopt);
}

TEST(Crops, ABlockOfOneTokenCanRepeat) { EXPECT_EQ(repeat_period(1, 0, 0.999999, 1), 1); }

TEST(Crops, DropoutSeedsOfPassesDiffer) { EXPECT_NE(dropout_seed(1, 0), dropout_seed(1, 1)); }

}  // namespace
}  // namespace heed
