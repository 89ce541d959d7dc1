// The head shown when none is named, its edge, and the sentence that explains the choice.
#include "inspect/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "heed/look.h"
#include "inspect/models.h"
#include "inspect/patterns.h"
#include "support/expect_error.h"

namespace heed {
namespace {

/// A head at an edge, as the tests write it.
struct ShownPlace {
  int layer = 0, head = 0;
  std::string query, key;
  bool operator==(const ShownPlace&) const = default;
};

std::ostream& operator<<(std::ostream& out, const ShownPlace& shown) {
  return out << "L" << shown.layer << ".H" << shown.head << " " << shown.query << " -> "
             << shown.key;
}

std::string trimmed(std::span<const SessionToken> tokens, std::optional<std::int64_t> at) {
  if (!at) return "";
  const std::string& bytes = tokens[static_cast<std::size_t>(*at)].bytes;
  return bytes.substr(std::min(bytes.find_first_not_of(' '), bytes.size()));
}

ChosenHead choose(const Session& session, std::optional<Stack> stack = {},
                  const std::vector<std::int64_t>& queries = {}) {
  return choose_head(session, score_heads(session), stack, {}, {}, queries);
}

ShownPlace shown(const Session& session, std::optional<Stack> stack = {}) {
  const ChosenHead chosen = choose(session, stack);
  return {chosen.layer, chosen.head, trimmed(session.queries(chosen.stack), chosen.query),
          trimmed(session.keys(chosen.stack), chosen.key)};
}

using Edges = std::vector<std::vector<std::int64_t>>;  // by head, the key of each row; -1: even

Session session_of(const Edges& keys, const Mask& mask = Mask::causal()) {
  const auto length = std::ssize(keys[0]);
  std::vector<LayerAttention> layers;
  layers.push_back(test::layer_of(
      std::ssize(keys), length,
      [&](std::int64_t head, std::int64_t i, std::int64_t j) {
        const auto& row = keys[static_cast<std::size_t>(head)];
        return row[static_cast<std::size_t>(i)] == j ? 20.0F : 0.0F;
      },
      mask));
  return test::session_of(std::move(layers));
}

void name(std::vector<SessionToken>& tokens, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) tokens[i].bytes = " " + words[i];
}

// Head 0 looks two back; head 1 looks at word 1 from wherever it stands.
Session far_and_near() {
  return session_of({{0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
}

TEST(ChooseHead, TakesTheOneThatLooksPastTheNearestTokensAtItsFarthestEdge) {
  const ChosenHead chosen = choose(far_and_near());
  EXPECT_EQ(shown(far_and_near()), (ShownPlace{0, 1, "t11", "t1"}));
  EXPECT_TRUE(chosen.automatic);
  EXPECT_EQ(chosen.reason,
            "`t11` looks back 10 tokens to `t1` (1.0): this head links distant words more "
            "strongly than any other");
}

TEST(ChooseHead, PinsNoPunctuationAndAWordOfGrammarOnlyForTwiceTheDistance) {
  Session session = far_and_near();
  name(session.tokens, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "king", "the", "."});
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, "king", "b"}));
  session.tokens[9].bytes = "!";
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, "i", "b"}));
  name(session.tokens, {".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "."});
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, ".", ""}));
}

TEST(ChooseHead, NeverPinsTheFirstTokenOfACausalText) {
  const Session session = session_of({{0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}});
  EXPECT_EQ(shown(session), (ShownPlace{0, 0, "t6", "t1"}));
}

TEST(ChooseHead, TakesNoHeadWhoseRowsAllLookAtOneWordWhereAnothersLookAtWordsOfTheirOwn) {
  const Session session =
      session_of({{0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, "t6", "t1"}));
}

TEST(ChooseHead, PinsTheRowThatLooksElsewhereThanTheOthers) {
  const Session session = session_of({{0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1}});
  EXPECT_EQ(shown(session), (ShownPlace{0, 0, "t10", "t3"}));
  const ChosenHead asked = at_strongest_edge(session, {.layer = 0, .head = 0});
  EXPECT_EQ(asked.query, 10);
  EXPECT_EQ(asked.key, 3);
}

TEST(ChooseHead, TheFirstWordOfACausalTextCountsHalf) {
  Session session = session_of({{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0}});
  EXPECT_EQ(shown(session), (ShownPlace{0, 0, "t9", "t1"}));
  session.tokens[0].text = -1;  // special: the word after it is the first
  EXPECT_EQ(shown(session), (ShownPlace{0, 0, "t10", "t3"}));
}

TEST(ChooseHead, APartOfACharacterCountsLessThanAWordOfGrammar) {
  Session session = session_of({{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 0}});
  session.tokens[1].bytes = " \xC3";
  session.tokens[2].bytes = "\xA9";
  session.tokens[10].bytes = " the";
  EXPECT_EQ(shown(session), (ShownPlace{0, 0, "the", "t4"}));
}

TEST(ChooseHead, TakesTheEdgeOfAnInductionHeadWhereTheTextRepeats) {
  // Tokens 6 to 11 repeat 0 to 5. Head 0 looks at what followed the earlier token from 6 on.
  Session session =
      session_of({{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}, {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
  name(session.tokens,
       {"one", "king", "the", "old", "well", "of", "one", "king", "the", "old", "well", "of"});
  const ChosenHead chosen = choose(session);
  EXPECT_EQ(shown(session), (ShownPlace{0, 0, "one", "king"}));
  EXPECT_EQ(chosen.reason,
            "`one` looks back 5 tokens to `king` (1.0), the word that followed the earlier `one`: "
            "an induction head");
  EXPECT_GE(chosen.score, 0.3);
}

TEST(ChooseHead, TakesNoInductionWhoseKeyIsNoWord) {
  Session session =
      session_of({{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}, {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
  name(session.tokens, {".", "king", ".", "!", "?", ",", ".", "king", ".", "!", "?", ","});
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, "king", "king"}));
}

TEST(ChooseHead, TakesNoInductionAtAWordOfGrammar) {
  Session session =
      session_of({{0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0}, {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
  name(session.tokens, {"one", "tom", "and", "anna", "went", "home", "early", "and", "they", "ate",
                        "some", "bread"});
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, "bread", "tom"}));
}

TEST(ChooseHead, BetweenTwoTextsTakesTheOneThatPicksTheOthersWords) {
  // Head 0 always looks at one word of the first text; head 1 at another one from each row.
  Session session = session_of({{3, 3, 3, 3, 0, 0, 0, 0}, {0, 0, 0, 0, 3, 2, 1, 0}}, Mask());
  session.split = 4;
  session.stacks[0].shape.causal = false;
  const ChosenHead chosen = choose(session);
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, "t4", "t3"}));
  EXPECT_EQ(chosen.reason,
            "`t4` of the second text looks at `t3` of the first (1.0): this head links words of "
            "the two texts more than any other");
  EXPECT_NEAR(chosen.score, 1, 1e-5);
}

TEST(ChooseHead, OfACrossAttentionTakesTheOneThatPicksTheSourcesWords) {
  Session session = session_of({{2, 2, 2, 2, 2, 2}, {5, 3, 0, 5, 5, 5}}, Mask());
  session.key_tokens = session.tokens;
  name(session.key_tokens, {"the", "old", "dog", "ran", "home", "."});
  session.stacks[0].shape.stack = Stack::kCross;
  for (SessionStack& stack : session.stacks) stack.shape.causal = false;
  EXPECT_EQ(shown(session), (ShownPlace{0, 1, "t1", "ran"}));
  EXPECT_EQ(choose(session).reason,
            "`t1` looks at `ran` (1.0): this head picks out words of the source more than any "
            "other");
  name(session.key_tokens, {".", ".", ".", ".", ".", "."});
  EXPECT_EQ(choose(session).reason,
            "the first head, as none looks hardest at a word of the source");
}

TEST(ChooseHead, OfSomeRowsTakesTheStrongestEdgeThere) {
  Session session = far_and_near();
  const std::vector<std::int64_t> queries = {6, 7};
  const ChosenHead chosen = choose(session, {}, queries);
  EXPECT_EQ(chosen.query, 7);
  EXPECT_EQ(chosen.key, 1);
  EXPECT_EQ(chosen.reason,
            "`t7` looks back 6 tokens to `t1` (1.0): from here this head links distant words "
            "more strongly than any other");
  session.tokens[7].bytes = ",";
  EXPECT_EQ(choose(session, {}, queries).query, 6);
  EXPECT_EQ(choose(session, {}, {7}).query, 7);  // it was asked for
}

// Rows of the built-in models whose word a reader knows.
struct KnownRow {
  bool in_tales;
  std::string text, query, key;
};

TEST(ChooseHead, OfARowOfTheBuiltInModelsTakesTheHeadThatLooksAtItsWord) {
  const KnownRow rows[] = {
      {true, "The king had a daughter, and he loved her.", "he", "king"},
      {true, "The king had a daughter, and he loved her.", "loved", "king"},
      {true, "The baker Mary saw the smith Tom by the river. Then she kneaded the dough.", "she",
       "baker"},
      {true, "The baker Mary saw the smith Tom by the river. Then he went home.", "he", "smith"},
      {false, "She opened the [MASK] and went into the house.", "[MASK]", "house"},
      {false, "The queen took the ring from her finger.", "finger", "ring"}};
  for (const KnownRow& row : rows) {
    const Session session = open_session(row.in_tales ? test::tales() : test::masks(), row.text);
    const ChosenHead chosen = choose(session, {}, find_word(session.tokens, row.query));
    EXPECT_EQ(trimmed(session.tokens, chosen.key), row.key) << row.text << " of " << row.query;
  }
}

TEST(ChooseHead, NamesTheWholeWordOfAPiece) {
  Session session = session_of({{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}});
  session.tokens[3].bytes = " B";
  session.tokens[4].bytes = "ob";
  EXPECT_EQ(choose(session).key, 4);
  EXPECT_TRUE(choose(session).reason.starts_with("`t11` looks back 7 tokens to `Bob` (1.0): "))
      << choose(session).reason;
}

TEST(ChooseHead, OfALongTextTakesRowsThatAreSpreadOverIt) {
  const ChosenHead chosen = choose(session_of({std::vector<std::int64_t>(1100, 1)}));
  EXPECT_EQ(chosen.query, 1098);  // the last of 1,024
  EXPECT_EQ(chosen.key, 1);
}

TEST(ChooseHead, SaysSoWhereNoneLooksPastTheNearestWords) {
  const Session session = session_of({{0, 0, 1}, {0, 0, 0}});
  EXPECT_EQ(shown(session), (ShownPlace{0, 0, "t2", "t1"}));
  EXPECT_EQ(choose(session).reason,
            "`t2` looks back 1 token to `t1` (1.0): the first head that links words, as none links "
            "distant ones");
}

TEST(ChooseHead, KeepsToTheHeadThatIsAskedFor) {
  const Session session = far_and_near();
  const std::vector<HeadScores> scores = score_heads(session);
  const ChosenHead of_head = choose_head(session, scores, {}, {}, 1);
  EXPECT_EQ(of_head.head, 1);
  EXPECT_TRUE(of_head.reason.ends_with("more strongly than head 1 of any other layer"))
      << of_head.reason;
  const ChosenHead of_layer = choose_head(session, scores, {}, 0, {});
  EXPECT_EQ(of_layer.head, 1);
  EXPECT_TRUE(of_layer.reason.ends_with("more strongly than any other of layer 0"))
      << of_layer.reason;
  const ChosenHead named = choose_head(session, {}, {}, 0, 0);
  EXPECT_EQ(named.reason, "asked for");
  EXPECT_FALSE(named.automatic || named.query);
  const ChosenHead at_edge = at_strongest_edge(session, named);
  EXPECT_EQ(at_edge.query.value_or(0) - at_edge.key.value_or(0), 2);
}

TEST(ChooseHead, NamesTheRangeOfLayersAndHeads) {
  const Session session = far_and_near();
  const std::vector<HeadScores> scores = score_heads(session);
  EXPECT_HEED_ERROR(choose_head(session, scores, {}, 1, {}), ErrorCode::kNotFound,
                    "look: layer is 1, expected 0 to 0 (by hand has 1 layer)");
  EXPECT_HEED_ERROR(choose_head(session, scores, {}, 0, -1), ErrorCode::kNotFound,
                    "look: head is -1, expected 0 to 1 (by hand has 2 heads)");
}

TEST(ChooseHead, OfTheBuiltInModels) {
  EXPECT_EQ(shown(open_session(test::tales(), "The king had a daughter, and he loved her.")),
            (ShownPlace{4, 2, "loved", "king"}));
  EXPECT_EQ(shown(open_session(test::masks(), "She opened the [MASK] and went into the house.")),
            (ShownPlace{2, 3, "[MASK]", "house"}));
  Session pair = tokenize_session(test::masks(), {.text = "The king had a daughter.",
                                                  .pair = "The princess was very beautiful."});
  run_session(pair, test::masks());
  EXPECT_EQ(shown(pair), (ShownPlace{2, 3, "princess", "king"}));
  static const LoadedModel enja = test::built_in("enja");
  const Session piano = open_session(enja, "She plays the piano every day.");
  EXPECT_EQ(shown(piano, Stack::kCross).key, "piano");
  EXPECT_TRUE(choose(piano, Stack::kCross).reason.starts_with("to write `ピアノ`, the decoder "))
      << choose(piano, Stack::kCross).reason;
}

TEST(ChooseHead, OfTheStoryIsTheInductionHeadAtTheKing) {
  const Session session = open_session(
      test::tales(), read_file(std::filesystem::path(HEED_SOURCE_DIR) / "examples/story.txt"));
  EXPECT_EQ(shown(session), (ShownPlace{1, 5, "king", "who"}));
  EXPECT_EQ(choose(session).reason,
            "`king` looks back 66 tokens to `who` (.91), the word that followed the earlier "
            "`king`: an induction head");
}

}  // namespace
}  // namespace heed
