#include "text/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heed {
namespace {

using testing::ElementsAre;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin);
    result.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

TEST(Words, ASpaceBelongsToTheWordAfterIt) {
  EXPECT_THAT(words("the cat  sat"), ElementsAre("the", " cat", " ", " sat"));
}
TEST(Words, ContractionsStandAlone) {
  EXPECT_THAT(words("we'll say it's 'sold'"),
              ElementsAre("we", "'ll", " say", " it", "'s", " '", "sold", "'"));
  EXPECT_THAT(words("IT'S"), ElementsAre("IT", "'", "S"));
}
TEST(Words, LettersNumbersAndTheRestAreApart) {
  EXPECT_THAT(words("ab12 34,. ½x"), ElementsAre("ab", "12", " 34", ",.", " ½", "x"));
}
TEST(Words, OtherWhiteSpaceIsNotTakenAlong) {
  EXPECT_THAT(words("a\n\nb\t"), ElementsAre("a", "\n", "\n", "b", "\t"));
  EXPECT_THAT(words("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(words("a\u00A0\u3000b"), ElementsAre("a", "\u00A0", "\u3000", "b"));
}
TEST(Words, LettersOfAllScriptsAreLetters) {
  EXPECT_THAT(words("naïve Ελλάδα 猫、x"), ElementsAre("naïve", " Ελλάδα", " 猫", "、", "x"));
  EXPECT_THAT(words("हि"), ElementsAre("ह", "ि"));  // a vowel sign is a mark, not a letter
}

}  // namespace
}  // namespace heed
