// The largest entries of a row and the rest, against a sorted copy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::int64_t> places(const Largest& largest) {
  std::vector<std::int64_t> all;
  for (const Entry& entry : largest.entries) all.push_back(entry.at);
  return all;
}

// 300 weights, with ties and masked ones.
std::vector<float> row() {
  std::vector<float> weights;
  for (int i = 0; i < 300; ++i)
    weights.push_back(i % 7 == 3 ? kHiddenWeight : static_cast<float>((i * 37) % 101) / 15000);
  return weights;
}

TEST(Largest, AreTheFirstOfTheSortedRow) {
  const std::vector<float> weights = row();
  std::vector<std::pair<float, std::int64_t>> sorted;  // ties to the lower index
  double sum = 0, entropy = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == kHiddenWeight) continue;
    sorted.emplace_back(-weights[i], static_cast<std::int64_t>(i));
    sum += weights[i];
    if (weights[i] > 0) entropy -= weights[i] * std::log(static_cast<double>(weights[i]));
  }
  std::ranges::sort(sorted);
  for (const std::int64_t most : {0, 1, 3, 64, 256, 257, 258, 1000}) {
    const Largest found = largest_of(weights, {.at_most = most});
    const std::size_t count = std::min<std::size_t>(sorted.size(), static_cast<std::size_t>(most));
    ASSERT_EQ(found.entries.size(), count);
    double rest = sum;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(found.entries[i].at, sorted[i].second) << most;
      rest -= found.entries[i].weight;
    }
    EXPECT_EQ(found.visible, std::ssize(sorted));
    EXPECT_EQ(found.rest_count, std::ssize(sorted) - static_cast<std::int64_t>(count));
    EXPECT_NEAR(found.rest_weight, rest, 1e-9);
    EXPECT_NEAR(found.entropy, entropy, 1e-12);
  }
  EXPECT_EQ(largest_of(weights, {}).entries.size(), sorted.size());
}

TEST(Largest, WhatTheShareLeavesOutIsTheRest) {
  const Largest found = largest_of(std::vector<float>{.1F, .4F, kHiddenWeight, .3F, .2F},
                                   {.top_p = .6, .at_most = 3});
  EXPECT_EQ(places(found), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(found.rest_count, 2);
  EXPECT_NEAR(found.rest_weight, .3, 1e-7);
}

TEST(Largest, AWeightThatIsNoNumberComesBeforeAll) {
  EXPECT_EQ(places(largest_of(std::vector<float>{.5F, .1F, kNan, .4F}, {.at_most = 2})),
            (std::vector<std::int64_t>{2, 0}));
}

}  // namespace
}  // namespace heed
