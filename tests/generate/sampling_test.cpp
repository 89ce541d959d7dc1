#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "heed/generate.h"
#include "support/expect_error.h"

namespace heed {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Logits of these probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

const std::vector<float>& four_letters() {  // a .4, b .1, c .3, d .2
  static const std::vector<float> logits = logits_of({.4, .1, .3, .2});
  return logits;
}

void expect_choices(const std::vector<Choice>& got, const std::vector<Choice>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].id, expected[i].id) << i;
    EXPECT_NEAR(got[i].probability, expected[i].probability, 1e-6) << i;
  }
}

TEST(Sampling, WithoutFiltersIsTheModelsDistribution) {
  expect_choices(choices(four_letters(), {.temperature = 1}), {{0, .4}, {1, .1}, {2, .3}, {3, .2}});
}

TEST(Sampling, TemperatureDividesTheLogits) {
  const double sum = .16 + .01 + .09 + .04;  // temperature 1/2 squares the probabilities
  expect_choices(choices(four_letters(), {.temperature = .5}),
                 {{0, .16 / sum}, {1, .01 / sum}, {2, .09 / sum}, {3, .04 / sum}});
}

TEST(Sampling, TemperatureZeroTakesTheLargestLogit) {
  expect_choices(choices(four_letters(), {.temperature = 0}), {{0, 1}});
  expect_choices(choices(std::vector<float>{1, 5, 2, 5}, {.temperature = 0}), {{1, 1}});
}

TEST(Sampling, AVerySmallTemperatureIsGreedy) {
  const auto got = choices(four_letters(), {.temperature = 1e-320});
  EXPECT_EQ(got[0].id, 0);
  EXPECT_EQ(got[0].probability, 1);
}

TEST(Sampling, TopKKeepsTheMostProbable) {
  expect_choices(choices(four_letters(), {.temperature = 1, .top_k = 2}),
                 {{0, .4 / .7}, {2, .3 / .7}});
  expect_choices(choices(four_letters(), {.temperature = 1, .top_k = 9}),
                 {{0, .4}, {1, .1}, {2, .3}, {3, .2}});
}

TEST(Sampling, TopKTakesTheLowerIdAtATie) {
  expect_choices(choices(std::vector<float>{1, 1, 1, 1}, {.temperature = 1, .top_k = 2}),
                 {{0, .5}, {1, .5}});
}

TEST(Sampling, TopPKeepsTheFewestThatReachIt) {
  expect_choices(choices(four_letters(), {.temperature = 1, .top_p = .65}),
                 {{0, .4 / .7}, {2, .3 / .7}});
  expect_choices(choices(four_letters(), {.temperature = 1, .top_p = .75}),
                 {{0, .4 / .9}, {2, .3 / .9}, {3, .2 / .9}});
}

TEST(Sampling, TopPKeepsAtLeastOne) {
  expect_choices(choices(four_letters(), {.temperature = 1, .top_p = 1e-9}), {{0, 1}});
}

TEST(Sampling, TopPCountsWhatTopKLeft) {  // .4 / .7 is .571 of what is left
  expect_choices(choices(four_letters(), {.temperature = 1, .top_k = 2, .top_p = .57}), {{0, 1}});
}

TEST(Sampling, TopPComesAfterTheTemperature) {  // squared: .53, .3, .13, .03
  expect_choices(choices(four_letters(), {.temperature = .5, .top_p = .5}), {{0, 1}});
}

TEST(Sampling, MinPIsAShareOfTheLargest) {
  expect_choices(choices(four_letters(), {.temperature = 1, .min_p = .6}),
                 {{0, .4 / .7}, {2, .3 / .7}});
  expect_choices(choices(four_letters(), {.temperature = 1, .min_p = 1}), {{0, 1}});
}

TEST(Sampling, ThePenaltyMakesSeenTokensLessProbable) {
  const std::vector<float> logits = {2, -1, 1.5};
  const std::vector<TokenId> seen = {0, 1, 0, 0};  // once is as often as thrice
  const double a = std::exp(1.0), b = std::exp(-2.0), c = std::exp(1.5);
  expect_choices(choices(logits, {.repetition_penalty = 2, .temperature = 1}, seen),
                 {{0, a / (a + b + c)}, {1, b / (a + b + c)}, {2, c / (a + b + c)}});
  expect_choices(choices(logits, {.repetition_penalty = 2, .temperature = 0}, seen), {{2, 1}});
}

TEST(Sampling, ATokenOfMinusInfinityNeverComes) {
  const std::vector<float> logits = {-kInfinity, 0, -kInfinity};
  EXPECT_EQ(choose(choices(logits, {.temperature = 1}), 0), 1);
  EXPECT_EQ(choose(choices(logits, {.temperature = 1}), 1 - 0x1p-53), 1);
}

TEST(Sampling, LogitsThatAreNoNumbersAreErrors) {
  EXPECT_HEED_ERROR(choices(std::vector<float>{0, std::nanf("")}, {}), ErrorCode::kCorrupt,
                    "generate: logits[1] is nan, expected a number; weights of the model are not "
                    "finite, or too large (heed look shows where)");
  EXPECT_HEED_ERROR(choices(std::vector<float>{0, kInfinity}, {}), ErrorCode::kCorrupt,
                    "generate: logits[1] is inf, expected a number; weights of the model are not "
                    "finite, or too large (heed look shows where)");
  EXPECT_HEED_ERROR(choices(std::vector<float>{-kInfinity}, {}), ErrorCode::kInvalidArgument,
                    "generate: logits is -inf for every token, expected a number for at least one; "
                    "are all of them suppressed, or bad words?");
}

TEST(Sampling, ANumberFallsOnTheChoiceThatCoversIt) {
  const std::vector<Choice> three = {{7, .5}, {3, .25}, {5, .25}};
  EXPECT_EQ(choose(three, 0), 7);
  EXPECT_EQ(choose(three, .499), 7);
  EXPECT_EQ(choose(three, .5), 3);
  EXPECT_EQ(choose(three, .75), 5);
  EXPECT_EQ(choose(three, 1 - 0x1p-53), 5);
}

TEST(Sampling, TheNumberIsAFunctionOfSeedAndPosition) {
  EXPECT_EQ(sampling_number(1, 5), sampling_number(1, 5));
  EXPECT_NE(sampling_number(1, 5), sampling_number(1, 6));
  EXPECT_NE(sampling_number(1, 5), sampling_number(2, 5));
  EXPECT_NE(sampling_number(1, 5), sampling_number(1 + (1ULL << 32), 5));
  EXPECT_NE(sampling_number(1, 5), sampling_number(1, 5 + (1LL << 32)));
}

// Pearson's statistic over 40,000 draws with three degrees of freedom: 16.3 is passed once in
// 1,000.
TEST(Sampling, DrawsFollowTheProbabilities) {
  constexpr int kDraws = 40000;
  const auto four = choices(four_letters(), {.temperature = 1});
  for (const bool by_seed : {false, true}) {
    std::map<TokenId, int> counts;
    for (int i = 0; i < kDraws; ++i)
      ++counts[choose(four, by_seed ? sampling_number(static_cast<std::uint64_t>(i), 3)
                                    : sampling_number(3, i))];
    double statistic = 0;
    for (const auto& [id, probability] : four) {
      const double expected = kDraws * probability;
      statistic += (counts[id] - expected) * (counts[id] - expected) / expected;
    }
    EXPECT_LT(statistic, 16.3) << by_seed;
  }
}

TEST(Sampling, ValuesOutOfRangeAreErrors) {
  const auto expect = [](const Sampling& sampling, const char* message) {
    EXPECT_HEED_ERROR(check(sampling), ErrorCode::kInvalidArgument, message);
  };
  expect({.temperature = -1},
         "generate: temperature is -1, expected a finite number of at least 0 (greedy)");
  expect({.temperature = std::nan("")},
         "generate: temperature is nan, expected a finite number of at least 0 (greedy)");
  expect({.temperature = HUGE_VAL},
         "generate: temperature is inf, expected a finite number of at least 0 (greedy)");
  expect({.top_k = -1}, "generate: top_k is -1, expected at least 1, or 0 for all");
  expect({.top_p = 0}, "generate: top_p is 0, expected above 0 and at most 1");
  expect({.top_p = 1.5}, "generate: top_p is 1.5, expected above 0 and at most 1");
  expect({.min_p = -.1}, "generate: min_p is -0.1, expected 0 to 1");
  expect({.repetition_penalty = 0}, "generate: repetition_penalty is 0, expected above 0");
}

}  // namespace
}  // namespace heed
