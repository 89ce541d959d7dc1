#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heed/look.h"
#include "inspect/rows/words.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using Indices = std::vector<std::int64_t>;

std::vector<SessionToken> tokens() {
  std::vector<SessionToken> list;
  for (const char* bytes : {"<s>", " Lily", " saw", " a", " b", "all", ".", " Lily", " 3"})
    list.push_back({.id = 0, .bytes = bytes});
  return list;
}

TEST(FindWord, FindsEveryTokenWithTheText) {
  EXPECT_EQ(find_word(tokens(), "Lily"), (Indices{1, 7}));
}

TEST(FindWord, TakesTheLastTokenOfASpelledWord) {
  EXPECT_EQ(find_word(tokens(), "ball"), Indices{5});
}

TEST(FindWord, FindsAWordInOneTokenAndInTwo) {
  std::vector<SessionToken> list;
  for (const char* bytes : {"the", " cat", " and", " c", "at", ",", " ", "cat"})
    list.push_back({.id = 0, .bytes = bytes});
  EXPECT_EQ(find_word(list, "cat"), (Indices{1, 4, 7}));
}

TEST(FindWord, TakesAnIndexWhereNoTokenIsThatNumber) {
  EXPECT_EQ(find_word(tokens(), "2"), Indices{2});
  EXPECT_EQ(find_word(tokens(), "3"), Indices{8});
}

TEST(FindWord, TakesOtherCapitalsWhereNoneAreAsTheyAreWritten) {
  EXPECT_EQ(find_word(tokens(), "SAW"), Indices{2});
  EXPECT_EQ(find_word(tokens(), "lily"), (Indices{1, 7}));
  std::vector<SessionToken> list = tokens();
  list[2].bytes = " lily";
  EXPECT_EQ(find_word(list, "lily"), Indices{2});
}

TEST(FindWord, NamesNoNearTokensOfANumber) {
  for (const char* number : {"9", "-1", "99999999999999999999"})
    EXPECT_HEED_ERROR(find_word(tokens(), number), ErrorCode::kInvalidArgument,
                      fmt::format("look: \"{}\" is not in the text, which has 9 tokens, expected "
                                  "a token, a word that tokens spell, or an index from 0 to 8",
                                  number));
}

TEST(FindWord, NamesTheNearestWordsWhenThereIsNone) {
  EXPECT_HEED_ERROR(find_word(tokens(), "Lilly"), ErrorCode::kInvalidArgument,
                    "look: \"Lilly\" is not in the text, which has 9 tokens, expected a token, a "
                    "word that tokens spell, or an index from 0 to 8; nearest: \"Lily\" (1), "
                    "\"ball\" (5), \"saw\" (2), \"a\" (3), \"3\" (8)");
}

Session translation() {
  Session session;
  session.tokens = tokens();
  for (const char* bytes : {" we", " take", " a", " bus"})
    session.key_tokens.push_back({.id = 0, .bytes = bytes});
  return session;
}

TEST(FindWord, SaysWhereTheOtherTextHasTheWord) {
  constexpr WordSides kSides = {.queries = "--who", .keys = "--to"};
  const Session session = translation();
  const auto find = [&](Stack stack, bool is_key, const char* word) {
    return find_word(session, stack, is_key, word, kSides);
  };
  EXPECT_EQ(find(Stack::kCross, /*is_key=*/false, "a"), Indices{3});
  EXPECT_EQ(find(Stack::kCross, /*is_key=*/true, "a"), Indices{2});
  EXPECT_HEED_ERROR(find(Stack::kCross, /*is_key=*/false, "bus"), ErrorCode::kInvalidArgument,
                    "--who: \"bus\" is in the source, not in the target; --to names a word of the "
                    "source");
  EXPECT_HEED_ERROR(find(Stack::kCross, /*is_key=*/true, "ball"), ErrorCode::kInvalidArgument,
                    "--to: \"ball\" is in the target, not in the source; --who names a word of "
                    "the target");
  EXPECT_HEED_ERROR(find(Stack::kEncoder, /*is_key=*/true, "ball"), ErrorCode::kInvalidArgument,
                    "--to: \"ball\" is in the target, not in the source; the stacks decoder and "
                    "cross have the target");
  EXPECT_HEED_ERROR(find(Stack::kCross, /*is_key=*/true, "4"), ErrorCode::kInvalidArgument,
                    "--to: \"4\" is not in the source, which has 4 tokens, expected a token, a "
                    "word that tokens spell, or an index from 0 to 3");
}

}  // namespace
}  // namespace heed
