// Scores that depend on tokens: hand-made patterns over hand-made tokens.
#include <gtest/gtest.h>

#include <cmath>

#include "heed/look.h"
#include "inspect/heads/scored_layer.h"
#include "inspect/patterns.h"

namespace heed {
namespace {

using test::kSure;
using test::peak;

constexpr std::int64_t kRepeated = 50;  // rows of the second half begin inside a block

Session session_of(LayerAttention layer) {
  std::vector<LayerAttention> layers;
  layers.push_back(std::move(layer));
  return test::session_of(std::move(layers));
}

// `period` tokens, all different, twice.
Session repeated(std::int64_t period, const test::Pattern& pattern, std::int64_t heads) {
  Session session = session_of(test::layer_of(heads, 2 * period, pattern));
  for (std::int64_t at = 0; at < period; ++at)
    session.tokens[static_cast<std::size_t>(period + at)].bytes =
        session.tokens[static_cast<std::size_t>(at)].bytes;
  return session;
}

Session of_words(const std::vector<std::string>& words, const test::Pattern& pattern) {
  Session session = session_of(test::layer_of(1, std::ssize(words), pattern, Mask()));
  for (std::size_t at = 0; at < words.size(); ++at) session.tokens[at].bytes = words[at];
  return session;
}

float flat(std::int64_t, std::int64_t, std::int64_t) { return 0; }

TEST(TokenScores, NameDuplicateAndInductionHeadsOnTextThatRepeats) {
  const Session session = repeated(
      kRepeated,
      [](std::int64_t head, std::int64_t i, std::int64_t j) {
        return j == (head == 0 ? i - kRepeated : i - kRepeated + 1) ? kSure : 0.0F;
      },
      2);
  const std::vector<HeadScores> scores = score_heads(session);
  EXPECT_NEAR(scores[0].of("duplicate"), 1, 1e-6);
  EXPECT_NEAR(scores[0].of("induction"), 0, 1e-6);
  EXPECT_NEAR(scores[1].of("induction"), 1, 1e-6);
  EXPECT_NEAR(scores[1].of("duplicate"), 0, 1e-6);
}

TEST(TokenScores, CountOnlyRowsThatSeeSuchAKey) {
  const HeadScores scores = score_heads(repeated(2, flat, 1))[0];  // a b a b
  const double mean = (1.0 / 3 + 1.0 / 4) / 2;  // rows 2 and 3 alone have an earlier place
  EXPECT_NEAR(scores.of("duplicate"), mean, 1e-6);
  EXPECT_NEAR(scores.of("induction"), mean, 1e-6);
}

TEST(TokenScores, SameWordIsItsOtherPieces) {
  const HeadScores scores = score_heads(of_words({" hap", "pi", "ly", " ran", "."}, flat))[0];
  EXPECT_NEAR(scores.of("same_word"), 2.0 / 5, 1e-6);  // three rows that have two others each
}

TEST(TokenScores, DelimitersAreWhatHasNoLetterPastTheFirstToken) {
  const HeadScores scores = score_heads(of_words({".", " ran", ".", "\n"}, flat))[0];
  EXPECT_NEAR(scores.of("delimiter"), (2 + 2 + 1 + 1) / 16.0, 1e-6);  // never the row itself
}

TEST(TokenScores, AreNotThereWithoutTokens) {
  const LayerAttention layer = test::layer_of(1, 4, flat);
  EXPECT_TRUE(std::isnan(score_heads(layer, 0)[0].of("duplicate")));
  EXPECT_FALSE(std::isnan(score_heads(layer, 0)[0].of("local")));
}

TEST(TokenScores, WordsEndAtSpacesPunctuationAndGapsOfTheText) {
  Session session = of_words({" a", "b", " c", "-", "d", "e"}, flat);
  EXPECT_EQ(scored_layer(session, Stack::kSelf, 0).words,
            (std::vector<std::int32_t>{0, 0, 1, 2, 3, 3}));
  session.tokens[4].begin = 5, session.tokens[4].end = 6;
  session.tokens[5].begin = 7, session.tokens[5].end = 8;  // a space stood between
  EXPECT_EQ(scored_layer(session, Stack::kSelf, 0).words[5], 4);
}

// The first token takes nine tenths of every row, the token before the rest.
double adjusted(const HeadScores& head, std::string_view name) {
  for (std::size_t i = 0; i < score_infos().size(); ++i)
    if (score_infos()[i].name == name) return head.adjusted[i];
  return -1;
}

TEST(SinkAdjusted, IsTheRowWithoutItsSinkRenormalised) {
  const LayerAttention layer =
      test::layer_of(1, 100, [](std::int64_t, std::int64_t i, std::int64_t j) {
        if (j == 0) return kSure + std::log(9.0F);
        return j == i - 1 ? kSure : 0.0F;
      });
  const HeadScores scores = score_heads(layer, 0)[0];
  EXPECT_NEAR(scores.of("previous"), (0.9 + 98 * 0.1) / 99, 0.01);
  EXPECT_NEAR(adjusted(scores, "previous"), 1, 1e-5);
  EXPECT_NEAR(adjusted(scores, "confidence"), 1, 1e-5);
  EXPECT_NEAR(adjusted(scores, "entropy"), 0, 1e-4);
  EXPECT_NEAR(adjusted(scores, "distance"), 1, 1e-4);
  EXPECT_EQ(adjusted(scores, "sink"), scores.of("sink"));
}

TEST(SinkAdjusted, RowsWeighAsMuchAsTheyHaveLeft) {
  const HeadScores scores = score_heads(test::layer_of(1, 4, flat), 0)[0];
  EXPECT_NEAR(adjusted(scores, "previous"), (1.0 / 3 + 1.0 / 4) / (2.0 / 3 + 3.0 / 4), 1e-6);
  const double entropies = 1.0 / 2 * 0 + 2.0 / 3 * std::log(2) + 3.0 / 4 * std::log(3);
  EXPECT_NEAR(adjusted(scores, "entropy"), entropies / (1.0 / 2 + 2.0 / 3 + 3.0 / 4), 1e-5);
}

TEST(HeadScores, OfUniformRowsHaveTheLargestEntropyThatTheyCan) {
  const HeadScores scores = score_heads(test::layer_of(1, 4, flat), 0)[0];
  EXPECT_NEAR(scores.of("normalised_entropy"), 1, 1e-5);
  EXPECT_NEAR(adjusted(scores, "normalised_entropy"), 1, 1e-5);
  EXPECT_NEAR(scores.of("confidence"), (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3, 1e-6);
}

TEST(HeadScores, LocalIsWhatStaysWithinFourTokensOfRowsThatSeeMore) {
  const HeadScores scores = score_heads(test::layer_of(1, 7, flat), 0)[0];
  EXPECT_NEAR(scores.of("local"), (5.0 / 6 + 5.0 / 7) / 2, 1e-6);     // rows 5 and 6
  EXPECT_NEAR(adjusted(scores, "local"), 5.0 / 7 / (6.0 / 7), 1e-6);  // row 6 past the first token
}

// Reads its tokens as a source of as many.
Session reads_source(const test::Pattern& pattern, std::int64_t heads) {
  Session session = session_of(test::layer_of(heads, 4, pattern, Mask()));
  session.stacks[0].shape.stack = Stack::kCross;
  session.stacks[0].shape.causal = false;
  session.key_tokens = session.tokens;
  return session;
}

TEST(Coverage, IsTheShareOfTheSourceThatTheRowsReadOnce) {
  const Session session = reads_source(
      [](std::int64_t head, std::int64_t i, std::int64_t j) {
        if (head == 3) return 0.0F;
        return peak(j == (head == 0 ? i : head == 1 ? 0 : i / 2));
      },
      4);
  const std::vector<HeadScores> scores = score_heads(session);
  const double expected[] = {1, 1.0 / 4, 2.0 / 4, 1};  // an even spread reaches every token
  for (std::size_t head = 0; head < 4; ++head) {
    EXPECT_NEAR(scores[head].of("coverage"), expected[head], 1e-6) << head;
    EXPECT_EQ(adjusted(scores[head], "coverage"), scores[head].of("coverage"));
  }
}

TEST(Coverage, ASpecialTokenOfTheSourceDoesNotCount) {
  Session session =
      reads_source([](auto, std::int64_t, std::int64_t j) { return peak(j == 3); }, 1);
  EXPECT_NEAR(score_heads(session)[0].of("coverage"), 1.0 / 4, 1e-6);
  session.key_tokens[3].text = -1;
  EXPECT_NEAR(score_heads(session)[0].of("coverage"), 0, 1e-6);
}

TEST(Coverage, IsOfCrossAttentionsAlone) {
  const Session session = session_of(test::layer_of(1, 4, flat, Mask()));
  EXPECT_TRUE(std::isnan(score_heads(session)[0].of("coverage")));
}

// Lengths of values 0, 1, 1, 1: a sink that carries nothing.
TEST(ValueScores, ASinkThatCarriesNothingHasNoShare) {
  LayerAttention layer = test::layer_of(1, 4, flat);
  for (std::int64_t j = 1; j < 4; ++j) layer.v.data<float>()[j] = j % 2 == 0 ? 1 : -1;
  const HeadScores scores = score_heads(layer, 0)[0];
  EXPECT_NEAR(scores.of("value_weighted"), (0 + 1.0 / 2 + 2.0 / 3 + 3.0 / 4) / 4, 1e-6);
  EXPECT_NEAR(adjusted(scores, "value_weighted"), 1, 1e-6);
  EXPECT_NEAR(scores.of("value_sink"), 0, 1e-6);
  EXPECT_NEAR(scores.of("sink"), (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3, 1e-6);
}

TEST(ValueScores, OfEqualValuesAreTheWeights) {
  LayerAttention layer = test::layer_of(1, 4, flat);
  for (std::int64_t j = 0; j < 4; ++j) layer.v.data<float>()[j] = 2;
  const HeadScores scores = score_heads(layer, 0)[0];
  EXPECT_NEAR(scores.of("value_weighted"), 2, 1e-6);
  EXPECT_NEAR(scores.of("value_sink"), scores.of("sink"), 1e-6);
}

}  // namespace
}  // namespace heed
