#include "heed/inspect/head_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "inspect/patterns.h"

namespace heed {
namespace {

constexpr std::int64_t kLength = 70;  // more than one block of rows
constexpr float kSure = 40;           // e^-40 is nothing

float peak(bool at) { return at ? kSure : 0.0F; }

TEST(HeadScores, NameThePatternsOfPureHeads) {
  const LayerAttention layer =
      test::layer_of(3, kLength, [](std::int64_t head, std::int64_t i, std::int64_t j) {
        if (head == 0) return peak(j == i - 1);
        return peak(head == 1 ? j == i : j == 0);
      });
  const std::vector<HeadScores> scores = score_heads(layer, 5);
  ASSERT_EQ(scores.size(), 3);
  EXPECT_NEAR(scores[0].previous, 1, 1e-6);
  EXPECT_NEAR(scores[1].self, 1, 1e-6);
  EXPECT_NEAR(scores[2].first, 1, 1e-6);
  EXPECT_NEAR(scores[0].self, 0, 1e-6);
  EXPECT_NEAR(scores[2].entropy, 0, 1e-6);
  EXPECT_EQ(scores[2].layer, 5);
  EXPECT_EQ(scores[2].head, 2);
}

TEST(HeadScores, OfUniformRowsAreMeansOfOneOverTheLength) {
  const LayerAttention layer =
      test::layer_of(1, 4, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  const HeadScores scores = score_heads(layer, 0)[0];
  const double later_rows = (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3;
  EXPECT_NEAR(scores.previous, later_rows, 1e-6);
  EXPECT_NEAR(scores.self, later_rows, 1e-6);
  EXPECT_NEAR(scores.first, later_rows, 1e-6);
  EXPECT_NEAR(scores.entropy, (std::log(2) + std::log(3) + std::log(4)) / 4, 1e-6);
  EXPECT_NEAR(scores.elsewhere, 1.0 / 4, 1e-6);  // only row 3 has such a key: key 1
}

TEST(HeadScores, NextCountsWhereNothingIsCausal) {
  const LayerAttention layer = test::layer_of(
      1, kLength, [](std::int64_t, std::int64_t i, std::int64_t j) { return peak(j == i + 1); },
      Mask());
  EXPECT_NEAR(score_heads(layer, 0)[0].next, 1, 1e-6);
}

TEST(HeadScores, ElsewhereLeavesOutFirstOwnAndPrevious) {
  const LayerAttention layer =
      test::layer_of(2, kLength, [](std::int64_t head, std::int64_t i, std::int64_t j) {
        return peak(head == 0 ? j == i - 2 && j > 0 : j == i - 1);
      });
  const std::vector<HeadScores> scores = score_heads(layer, 0);
  EXPECT_NEAR(scores[0].elsewhere, 1, 1e-6);  // rows from 3 on
  EXPECT_NEAR(scores[1].elsewhere, 0, 1e-6);
}

double wave(std::int64_t i, std::int64_t j) {
  return 4 * std::sin(3 * static_cast<double>(i) + 7 * static_cast<double>(j));
}

// From the plain softmax of `wave`, in double.
HeadScores plain_scores(std::int64_t length, bool is_causal) {
  HeadScores mean;
  const auto rows = static_cast<double>(length);
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t end = is_causal ? i + 1 : length;
    double sum = 0, largest = 0;
    for (std::int64_t j = 0; j < end; ++j) sum += std::exp(wave(i, j));
    for (std::int64_t j = 0; j < end; ++j) {
      const double weight = std::exp(wave(i, j)) / sum;
      mean.entropy -= weight * std::log(weight) / rows;
      if (j == i - 1) mean.previous += weight / (rows - 1);
      if (j == i + 1) mean.next += weight / (rows - 1);  // the last row has none
      if (j > 0 && j != i && j != i - 1) largest = std::max(largest, weight);
    }
    mean.elsewhere += largest / (is_causal ? rows - 3 : rows);  // the first three have no such key
  }
  return mean;
}

// Tiles of keys that lie far from the diagonal, on both sides.
TEST(HeadScores, OfLongRowsAreThoseOfThePlainSoftmax) {
  constexpr std::int64_t kLong = 200;
  for (const bool is_causal : {true, false}) {
    const LayerAttention layer = test::layer_of(
        1, kLong,
        [](std::int64_t, std::int64_t i, std::int64_t j) { return static_cast<float>(wave(i, j)); },
        is_causal ? causal() : Mask());
    const HeadScores scores = score_heads(layer, 0)[0];
    const HeadScores expected = plain_scores(kLong, is_causal);
    EXPECT_NEAR(scores.previous, expected.previous, 1e-5);
    EXPECT_NEAR(scores.next, expected.next, 1e-5);
    EXPECT_NEAR(scores.entropy, expected.entropy, 1e-5);
    EXPECT_NEAR(scores.elsewhere, expected.elsewhere, 1e-5);
  }
}

}  // namespace
}  // namespace heed
