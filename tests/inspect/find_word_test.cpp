#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heed/inspect/look.h"
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
                      fmt::format("look: \"{}\" is not in the text, expected a token, a word "
                                  "that tokens spell, or an index from 0 to 8",
                                  number));
}

TEST(FindWord, NamesTheNearestWordsWhenThereIsNone) {
  EXPECT_HEED_ERROR(find_word(tokens(), "Lilly"), ErrorCode::kInvalidArgument,
                    "look: \"Lilly\" is not in the text, expected a token, a word that tokens "
                    "spell, or an index from 0 to 8; nearest: \"Lily\" (1), \"ball\" (5), "
                    "\"saw\" (2), \"a\" (3), \"3\" (8)");
}

}  // namespace
}  // namespace heed
