#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/pipeline/pattern.h"
#include "text/unicode/properties.h"

namespace heed {
namespace {

using testing::ElementsAre;

using WordEnd = std::size_t (*)(std::string_view text, std::size_t begin);

std::vector<std::string> words_of(std::string_view text, WordEnd word_end = gpt2_word_end) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin);
    result.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

TEST(Words, ASpaceBelongsToTheWordAfterIt) {
  EXPECT_THAT(words_of("the cat  sat"), ElementsAre("the", " cat", " ", " sat"));
}
TEST(Words, ContractionsStandAlone) {
  EXPECT_THAT(words_of("we'll say it's 'sold'"),
              ElementsAre("we", "'ll", " say", " it", "'s", " '", "sold", "'"));
  EXPECT_THAT(words_of("IT'S"), ElementsAre("IT", "'", "S"));
}
TEST(Words, LettersNumbersAndTheRestAreApart) {
  EXPECT_THAT(words_of("ab12 34,. ½x"), ElementsAre("ab", "12", " 34", ",.", " ½", "x"));
}
TEST(Words, OtherWhiteSpaceIsNotTakenAlong) {
  EXPECT_THAT(words_of("a\n\nb\t"), ElementsAre("a", "\n", "\n", "b", "\t"));
  EXPECT_THAT(words_of("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(words_of("a\u00A0\u3000b"), ElementsAre("a", "\u00A0", "\u3000", "b"));
}
TEST(Words, AsciiIsCutAsItsPropertiesSay) {
  for (char code = 0; code >= 0 && code < 127; ++code) {
    const auto kind = [](char one) {
      const auto letter = static_cast<char32_t>(one);
      return is_space(letter) ? 0 : is_letter(letter) ? 1 : is_number(letter) ? 2 : 3;
    };
    const std::string both = {code, 'a'};
    const bool joins = kind(code) == 1 || code == ' ';
    EXPECT_EQ(words_of(both).size(), joins ? 1U : 2U) << int{code};
    const std::string doubled = {'1', code, '1'};
    EXPECT_EQ(words_of(doubled).size(), kind(code) == 2 ? 1U : code == ' ' ? 2U : 3U) << int{code};
  }
}
TEST(Words, LettersOfAllScriptsAreLetters) {
  EXPECT_THAT(words_of("naïve Ελλάδα 猫、x"), ElementsAre("naïve", " Ελλάδα", " 猫", "、", "x"));
  EXPECT_THAT(words_of("हि"), ElementsAre("ह", "ि"));  // a vowel sign is a mark, not a letter
}

TEST(Llama3Words, AnySignOrSpaceMayLeadLettersAndDigitsComeInThrees) {
  EXPECT_THAT(words_of("a (big)\tcat-2023 12345", llama3_word_end),
              ElementsAre("a", " (", "big", ")", "\tcat", "-", "202", "3", " ", "123", "45"));
  EXPECT_THAT(words_of("a(big", llama3_word_end), ElementsAre("a", "(big"));
}
TEST(Llama3Words, ContractionsHaveAnyCase) {
  EXPECT_THAT(words_of("IT'S we'Ll 'x", llama3_word_end),
              ElementsAre("IT", "'S", " we", "'Ll", " '", "x"));
  EXPECT_THAT(words_of("a'\u017Fb", llama3_word_end), ElementsAre("a", "'\u017F", "b"));  // long s
}
TEST(Llama3Words, LineBreaksGoWithWhatStandsBeforeThem) {
  EXPECT_THAT(words_of("a.\n\n b  \n\t\n  c ", llama3_word_end),
              ElementsAre("a", ".\n\n", " b", "  \n\t\n", " ", " c", " "));
  EXPECT_THAT(words_of("\nword", llama3_word_end), ElementsAre("\n", "word"));
}
TEST(Qwen2Words, EveryDigitStandsAlone) {
  EXPECT_THAT(words_of("a 12", qwen2_word_end), ElementsAre("a", " ", "1", "2"));
}
TEST(Gpt4oWords, LowerCaseThatTurnsToUpperCaseEndsAWord) {
  EXPECT_THAT(words_of("helloWorld HTTPServer iOS", gpt4o_word_end),
              ElementsAre("hello", "World", " HTTPServer", " i", "OS"));
}
TEST(Gpt4oWords, ContractionsBelongToTheirWordAndMarksAreLetters) {
  EXPECT_THAT(words_of("don't IT'S", gpt4o_word_end), ElementsAre("don't", " IT'S"));
  EXPECT_THAT(words_of("हि x", gpt4o_word_end), ElementsAre("हि", " x"));
  EXPECT_THAT(words_of("\u0301A", gpt4o_word_end), ElementsAre("\u0301", "A"));
}
TEST(Gpt4oWords, SlashesGoWithSigns) {
  EXPECT_THAT(words_of("a, //\n/x", gpt4o_word_end), ElementsAre("a", ",", " //\n/", "x"));
}

}  // namespace
}  // namespace heed
