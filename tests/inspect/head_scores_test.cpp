#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "heed/look.h"
#include "inspect/heads/scores.h"
#include "inspect/patterns.h"

namespace heed {
namespace {

using test::kSure;
using test::peak;

constexpr std::int64_t kLength = 70;  // more than one block of rows

TEST(HeadScores, NameThePatternsOfPureHeads) {
  const LayerAttention layer =
      test::layer_of(3, kLength, [](std::int64_t head, std::int64_t i, std::int64_t j) {
        if (head == 0) return peak(j == i - 1);
        return peak(head == 1 ? j == i : j == 0);
      });
  const std::vector<HeadScores> scores = score_heads(layer, 5);
  ASSERT_EQ(scores.size(), 3);
  EXPECT_NEAR(scores[0].of("previous"), 1, 1e-6);
  EXPECT_NEAR(scores[1].of("current"), 1, 1e-6);
  EXPECT_NEAR(scores[2].of("sink"), 1, 1e-6);
  EXPECT_NEAR(scores[0].of("current"), 0, 1e-6);
  EXPECT_NEAR(scores[2].of("entropy"), 0, 1e-6);
  EXPECT_EQ(scores[2].place.layer, 5);
  EXPECT_EQ(scores[2].place.head, 2);
}

TEST(HeadScores, OfUniformRowsAreMeansOfOneOverTheLength) {
  const LayerAttention layer =
      test::layer_of(1, 4, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  const HeadScores scores = score_heads(layer, 0)[0];
  const double later_rows = (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3;
  EXPECT_NEAR(scores.of("previous"), later_rows, 1e-6);
  EXPECT_NEAR(scores.of("current"), later_rows, 1e-6);
  EXPECT_NEAR(scores.of("sink"), later_rows, 1e-6);
  EXPECT_NEAR(scores.of("entropy"), (std::log(2) + std::log(3) + std::log(4)) / 4, 1e-6);
  EXPECT_NEAR(scores.of("elsewhere"), 1.0 / 4, 1e-6);  // only row 3 has such a key: key 1
}

TEST(HeadScores, ARowOfNanIsInEveryMean) {
  const LayerAttention layer =
      test::layer_of(2, kLength, [](std::int64_t head, std::int64_t i, std::int64_t j) {
        return head == 0 && i == 9 ? NAN : peak(j == i - 1);
      });
  const std::vector<HeadScores> scores = score_heads(layer, 0);
  for (const char* name : {"previous", "current", "sink", "entropy", "elsewhere", "confidence",
                           "local", "normalised_entropy"}) {
    EXPECT_TRUE(std::isnan(scores[0].of(name))) << name;
    EXPECT_FALSE(std::isnan(scores[1].of(name))) << name;
    EXPECT_TRUE(std::isnan(scores[0].adjusted[score_index(name)]) ||
                std::string_view(name) == "sink")
        << name;
  }
}

TEST(HeadScores, NextCountsWhereNothingIsCausal) {
  const LayerAttention layer = test::layer_of(
      1, kLength, [](std::int64_t, std::int64_t i, std::int64_t j) { return peak(j == i + 1); },
      Mask());
  EXPECT_NEAR(score_heads(layer, 0)[0].of("next"), 1, 1e-6);
}

TEST(HeadScores, ElsewhereLeavesOutFirstOwnAndPrevious) {
  const LayerAttention layer =
      test::layer_of(2, kLength, [](std::int64_t head, std::int64_t i, std::int64_t j) {
        return peak(head == 0 ? j == i - 2 && j > 0 : j == i - 1);
      });
  const std::vector<HeadScores> scores = score_heads(layer, 0);
  EXPECT_NEAR(scores[0].of("elsewhere"), 1, 1e-6);  // rows from 3 on
  EXPECT_NEAR(scores[1].of("elsewhere"), 0, 1e-6);
}

TEST(HeadScores, ElsewhereLeavesOutTheNextTokenOfAnEncoder) {
  const LayerAttention layer = test::layer_of(
      2, kLength,
      [](std::int64_t head, std::int64_t i, std::int64_t j) { return peak(j == i + 1 + head); },
      Mask());
  const std::vector<HeadScores> scores = score_heads(layer, 0);
  EXPECT_NEAR(scores[0].of("elsewhere"), 0, 0.2);  // the last row has no next token
  EXPECT_GT(scores[1].of("elsewhere"), 0.7);
}

double wave_score(std::int64_t i, std::int64_t j) {
  return 4 * std::sin(3 * static_cast<double>(i) + 7 * static_cast<double>(j));
}

struct Plain {
  double previous = 0, next = 0, entropy = 0, elsewhere = 0;
};

// From the plain softmax of `wave_score`, in double.
Plain plain_scores(std::int64_t length, bool is_causal) {
  Plain mean;
  const auto rows = static_cast<double>(length);
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t end = is_causal ? i + 1 : length;
    double sum = 0, largest = 0;
    for (std::int64_t j = 0; j < end; ++j) sum += std::exp(wave_score(i, j));
    for (std::int64_t j = 0; j < end; ++j) {
      const double weight = std::exp(wave_score(i, j)) / sum;
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
        [](std::int64_t, std::int64_t i, std::int64_t j) {
          return static_cast<float>(wave_score(i, j));
        },
        is_causal ? Mask::causal() : Mask());
    const HeadScores scores = score_heads(layer, 0)[0];
    const Plain expected = plain_scores(kLong, is_causal);
    EXPECT_NEAR(scores.of("previous"), expected.previous, 1e-5);
    EXPECT_NEAR(scores.of("next"), expected.next, 1e-5);
    EXPECT_NEAR(scores.of("entropy"), expected.entropy, 1e-5);
    EXPECT_NEAR(scores.of("elsewhere"), expected.elsewhere, 1e-5);
  }
}

TEST(HeadScores, DistanceIsTheMeanNumberOfTokensBack) {
  const LayerAttention layer =
      test::layer_of(1, kLength, [](std::int64_t, std::int64_t i, std::int64_t j) {
        return peak(j == std::max<std::int64_t>(i - 3, 0));
      });
  EXPECT_NEAR(score_heads(layer, 0)[0].of("distance"), (0 + 1 + 2 + 3.0 * (kLength - 3)) / kLength,
              1e-5);
}

TEST(ScoreInfos, HaveShortNamesAndOneLineEach) {
  for (const ScoreInfo& info : score_infos()) {
    EXPECT_LE(info.short_name.size(), 7) << info.name;
    EXPECT_FALSE(info.about.empty()) << info.name;
    EXPECT_EQ(info.about.find('\n'), std::string_view::npos) << info.name;
  }
}

}  // namespace
}  // namespace heed
