// Every score of hand-made patterns, raw and sink-adjusted: compared with its definition in plain
// loops, and for pure patterns with known values.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "inspect/heads/scores.h"
#include "inspect/patterns.h"
#include "inspect/plain_scores.h"

namespace heed {
namespace {

using test::Forms;
using test::kSure;
using test::peak;
using test::PlainHead;

constexpr std::int64_t kRepeat = 40;           // of the repeated random tokens
constexpr std::int64_t kTokens = 2 * kRepeat;  // more than one block of rows

// Tokens of which each comes twice, in a random order that repeats; some are full stops.
std::vector<std::string> repeated_random() {
  std::mt19937 random(5);
  std::vector<std::string> tokens;
  for (std::int64_t i = 0; i < kRepeat; ++i) tokens.push_back(" t" + std::to_string(i));
  std::shuffle(tokens.begin(), tokens.end(), random);
  tokens[7] = " .";
  for (std::int64_t i = 0; i < kRepeat; ++i) tokens.push_back(tokens[static_cast<std::size_t>(i)]);
  return tokens;
}

struct Made {
  Session session;
  PlainHead plain;
};

Made made(const test::Pattern& pattern, const Mask& mask) {
  LayerAttention layer = test::layer_of(1, kTokens, pattern, mask);
  for (std::int64_t j = 0; j < kTokens; ++j)
    layer.v.data<float>()[j] = static_cast<float>(1 + j % 5);
  std::vector<LayerAttention> layers;
  layers.push_back(std::move(layer));
  Made all{test::session_of(std::move(layers)), {}};
  all.plain.tokens = repeated_random();
  const bool causal = mask.rule() != nullptr;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    all.session.tokens[static_cast<std::size_t>(i)].bytes = all.plain.tokens[i];
    all.plain.lengths.push_back(static_cast<double>(1 + i % 5));
    test::PlainWeights row(kTokens, std::nan(""));
    double sum = 0;
    for (std::int64_t j = 0; j < (causal ? i + 1 : kTokens); ++j)
      sum += row[j] = std::exp(static_cast<double>(pattern(0, i, j)));
    for (double& weight : row) weight /= sum;
    all.plain.weights.push_back(row);
  }
  return all;
}

const std::map<std::string, test::Pattern>& patterns() {
  static const std::map<std::string, test::Pattern> kAll = {
      {"diagonal", [](auto, std::int64_t i, std::int64_t j) { return peak(j == i); }},
      {"previous", [](auto, std::int64_t i, std::int64_t j) { return peak(j == i - 1); }},
      {"uniform", [](auto, std::int64_t, std::int64_t) { return 0.0F; }},
      {"induction",
       [](auto, std::int64_t i, std::int64_t j) { return peak(j == i - kRepeat + 1 && j > 0); }},
      {"duplicate", [](auto, std::int64_t i, std::int64_t j) { return peak(j == i - kRepeat); }},
      {"sink and previous",
       [](auto, std::int64_t i, std::int64_t j) {
         return j == 0 ? kSure + std::log(9.0F) : peak(j == i - 1);
       }},
      {"waves", [](auto, std::int64_t i, std::int64_t j) {
         return static_cast<float>(4 * std::sin(3 * double(i) + 7 * double(j)));
       }}};
  return kAll;
}

HeadScores scores_of(const Made& head) { return score_heads(head.session, Stack::kSelf, 0)[0]; }

class ScoresOf : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Masks, ScoresOf, testing::Bool(), [](const auto& causal) {
  return std::string(causal.param ? "Causal" : "Both");
});

TEST_P(ScoresOf, EveryPatternAreThoseOfTheirDefinitions) {
  for (const auto& [pattern, score] : patterns()) {
    const Made head = made(score, GetParam() ? Mask::causal() : Mask());
    const HeadScores found = scores_of(head);
    for (const auto& [name, plain] : test::score_definitions()) {
      if (GetParam() && name == "next") continue;
      const Forms expected = test::plain_score(head.plain, plain);
      const double slack = 2e-5 * (1 + std::abs(expected.raw));
      EXPECT_NEAR(found.of(name), expected.raw, slack) << name << " of " << pattern;
      EXPECT_NEAR(found.adjusted[score_index(name)], expected.adjusted,
                  2e-5 * (1 + std::abs(expected.adjusted)))
          << name << " of " << pattern << ", adjusted";
    }
  }
}

// A score that this file does not define would not be tested: each has a definition here or is of
// one form (the sink's own), of words or of a source (token_scores_test), of images (images_test),
// or of passes (late_scores_test).
TEST(ScoresOfPatterns, AreAllOfThem) {
  const std::set<std::string> elsewhere = {"sink",     "value_sink", "same_word",
                                           "coverage", "image",      "image_spread"};
  for (const ScoreInfo& info : score_infos()) {
    if (info.from != ScoreFrom::kText) continue;
    EXPECT_TRUE(test::score_definitions().contains(std::string(info.name)) ||
                elsewhere.contains(std::string(info.name)))
        << info.name;
  }
}

TEST(ScoresOfPatterns, APureDiagonalIsItself) {
  const HeadScores found = scores_of(made(patterns().at("diagonal"), Mask::causal()));
  for (const char* name : {"current", "confidence", "local"}) EXPECT_NEAR(found.of(name), 1, 1e-6);
  for (const char* name : {"previous", "sink", "distance", "entropy", "elsewhere",
                           "normalised_entropy", "duplicate", "induction", "delimiter"})
    EXPECT_NEAR(found.of(name), 0, 1e-5) << name;
}

TEST(ScoresOfPatterns, RepeatedRandomTokensTellInductionFromDuplicates) {
  const HeadScores induction = scores_of(made(patterns().at("induction"), Mask::causal()));
  const HeadScores duplicate = scores_of(made(patterns().at("duplicate"), Mask::causal()));
  EXPECT_NEAR(induction.of("induction"), 1, 1e-6);
  EXPECT_NEAR(induction.of("duplicate"), 0, 1e-6);
  EXPECT_NEAR(duplicate.of("duplicate"), 1, 1e-6);
  EXPECT_NEAR(duplicate.of("induction"), 0, 1e-6);
}

TEST(ScoresOfPatterns, AUniformHeadHasOneOverTheNumberOfKeys) {
  const HeadScores found = scores_of(made(patterns().at("uniform"), Mask()));
  for (const char* name : {"previous", "current", "next", "sink", "confidence", "elsewhere"})
    EXPECT_NEAR(found.of(name), 1.0 / kTokens, 1e-6) << name;
  EXPECT_NEAR(found.of("entropy"), std::log(kTokens), 1e-5);
  EXPECT_NEAR(found.of("normalised_entropy"), 1, 1e-6);
}

}  // namespace
}  // namespace heed
