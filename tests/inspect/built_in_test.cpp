// The built-in decoder knows English, and the encoder fills gaps in it. What heads do, and losses,
// are checked against the cards by tools/card_figures.py (models.card.*).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"
#include "inspect/models.h"
#include "inspect/rows/words.h"
#include "ops/loss.h"

namespace heed {
namespace {

using test::tales;

// Mean -log p of each next token, in nats.
double loss_of(const std::string& text) {
  const Session session = open_session(tales(), text, {.all_logits = true});
  std::vector<std::int32_t> targets;
  for (std::size_t i = 1; i < session.tokens.size(); ++i) targets.push_back(session.tokens[i].id);
  targets.push_back(kIgnoredTarget);
  return cross_entropy({.logits = session.logits,
                        .targets = ConstView(targets.data(), DType::kI32,
                                             {static_cast<std::int64_t>(targets.size())})})
      .mean;
}

TEST(BuiltIn, PrefersASentenceToItsWordsInReverse) {
  const double sentence = loss_of(
      "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
      "nothing to do.");
  EXPECT_LT(sentence, 4);
  EXPECT_GT(loss_of("do nothing having of and bank the on sister her by sitting of tired very get "
                    "to beginning was Alice."),
            sentence + 2);
}

TEST(BuiltIn, TheEncoderFillsAGapByWhatStandsBehindIt) {
  const Session session = open_session(
      test::masks(), "The king had a daughter, and he loved [MASK].", {.all_logits = true});
  const std::vector<FilledMask> filled = filled_masks(session, 5);
  ASSERT_EQ(filled.size(), 1U);
  EXPECT_EQ(session.tokens[static_cast<std::size_t>(filled[0].at)].bytes, "[MASK]");
  std::vector<std::string> words;
  for (const NextWord& word : filled[0].words.words) words.push_back(word.bytes);
  EXPECT_THAT(words, testing::Contains(testing::AnyOf(" her", " him", " it")));
}

TEST(BuiltIn, MasksAreFilledByTheSoftmaxOfTheirLogits) {
  const Session session =
      open_session(test::masks(), "A [MASK] and a [MASK].", {.all_logits = true});
  const std::vector<std::int64_t> places = mask_places(session);
  const std::vector<FilledMask> filled = filled_masks(session, 3);
  ASSERT_EQ(filled.size(), 2U);
  for (std::size_t i = 0; i < filled.size(); ++i) {
    EXPECT_EQ(filled[i].at, places[i]);
    const std::int64_t vocabulary = session.logits.dim(1);
    const float* const logits = session.logits.data<float>() + places[i] * vocabulary;
    double sum = 0;
    for (std::int64_t id = 0; id < vocabulary; ++id)
      sum += std::exp(static_cast<double>(logits[id]));
    for (const NextWord& word : filled[i].words.words)
      EXPECT_NEAR(word.probability, std::exp(static_cast<double>(logits[word.id])) / sum, 1e-6);
  }
}

TEST(BuiltIn, WithoutAllLogitsOrWithoutMasksNothingIsFilled) {
  EXPECT_TRUE(filled_masks(open_session(test::masks(), "A [MASK]."), 3).empty());
  EXPECT_TRUE(
      filled_masks(open_session(test::masks(), "A king.", {.all_logits = true}), 3).empty());
  EXPECT_TRUE(mask_places(open_session(tales(), "A [MASK].")).empty());
}

}  // namespace
}  // namespace heed
