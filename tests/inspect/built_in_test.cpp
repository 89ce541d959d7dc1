// The built-in model does what its card says (models/tales/card.md, "What its heads do" and "On
// known text").
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "heed/inspect/head_probe.h"
#include "heed/inspect/look.h"
#include "heed/inspect/session.h"
#include "heed/models/registry.h"
#include "ops/loss.h"
#include "support/places.h"

namespace heed {
namespace {

constexpr double kAlice = 3.047;  // nats a token

const LoadedModel& tales() {
  static const LoadedModel model =
      load_model(std::filesystem::path(HEED_SOURCE_DIR) / "models" / "tales");
  return model;
}

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

TEST(BuiltIn, WritesEnglishAsWellAsItsCardSays) {
  EXPECT_NEAR(loss_of("Alice was beginning to get very tired of sitting by her sister on the bank, "
                      "and of having nothing to do."),
              kAlice, 0.02);
  EXPECT_GT(loss_of("do nothing having of and bank the on sister her by sitting of tired very get "
                    "to beginning was Alice."),
            kAlice + 2);
}

Session king() { return open_session(tales(), "The king had a daughter, and he loved her."); }

TEST(BuiltIn, ThePronounFindsItsNoun) {
  const Session session = king();
  const Look shown = look(session, {.queries = {7}});  // "he"
  EXPECT_EQ(shown.chosen.layer, 1);
  EXPECT_EQ(shown.chosen.head, 1);
  ASSERT_FALSE(shown.rows.empty());
  const auto& first = shown.rows[0].attends[0];
  EXPECT_EQ(session.tokens[static_cast<std::size_t>(first.key)].bytes, " king");
  EXPECT_NEAR(first.weight, 0.68, 0.01);
}

TEST(BuiltIn, HeadsOfTheFirstLayerLookAtTheTokenBefore) {
  const std::vector<HeadScores> scores = score_heads(king().at({.layer = 0}), 0);
  EXPECT_NEAR(scores[0].of("previous"), 0.53, 0.01);
  EXPECT_NEAR(scores[1].of("previous"), 0.61, 0.01);
}

TEST(BuiltIn, HeadsOfTheSecondLayerLookAtTheFirstToken) {
  const std::vector<HeadScores> scores = score_heads(king().at({.layer = 1}), 1);
  for (const std::size_t head : {2U, 3U, 4U, 5U})
    EXPECT_NEAR(scores[head].of("sink"), 0.535, 0.05) << head;
}

TEST(BuiltIn, OnRandomTokensOnlyTheTokenBeforeIsFound) {
  const Probe probe = probe_heads(tales());
  EXPECT_NEAR(probe.heads[0].previous, 0.25, 0.01);
  EXPECT_NEAR(probe.heads[1].previous, 0.41, 0.01);
  for (const ProbedHead& head : probe.heads) {
    EXPECT_LT(head.induction, 0.06) << head.layer << '.' << head.head;
    EXPECT_LT(head.sink, 0.07) << head.layer << '.' << head.head;
  }
}

}  // namespace
}  // namespace heed
