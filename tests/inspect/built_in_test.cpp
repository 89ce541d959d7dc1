// The built-in model does what its card says (models/tales/card.md, "On known text").
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "heed/inspect/look.h"
#include "heed/inspect/session.h"
#include "heed/models/registry.h"
#include "heed/ops/loss.h"

namespace heed {
namespace {

constexpr double kAlice = 3.786;  // nats a token

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

TEST(BuiltIn, ThePronounFindsItsNoun) {
  const Session session = open_session(tales(), "The king had a daughter, and he loved her.");
  const Look shown = look(session, {.queries = {7}});  // "he"
  EXPECT_EQ(shown.chosen.layer, 3);
  EXPECT_EQ(shown.chosen.head, 1);
  ASSERT_FALSE(shown.rows.empty());
  EXPECT_EQ(session.tokens[static_cast<std::size_t>(shown.rows[0].attends[0].key)].bytes, " king");
}

TEST(BuiltIn, AHeadOfTheLastLayerLooksAtTheTokenBefore) {
  const Session session = open_session(tales(), "The king had a daughter, and he loved her.");
  EXPECT_NEAR(score_heads(session.layers[3], 3)[2].previous, 0.46, 0.01);
}

}  // namespace
}  // namespace heed
