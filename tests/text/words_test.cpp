#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"
#include "text/pipeline/pattern.h"
#include "text/unicode/properties.h"

namespace heed {
namespace {

using testing::ElementsAre;

std::vector<std::string> words_of(std::string_view text, std::string_view regex = kGpt2Words) {
  std::vector<std::string> words;
  for (const auto& [begin, end] : read_regex(regex)(text))
    words.emplace_back(text.substr(begin, end - begin));
  return words;
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

TEST(Words, LettersNewerThanPcre2sUnicodeAreLetters) {
  EXPECT_THAT(words_of("a\U00032020's \U0001E054"),
              ElementsAre("a\U00032020", "'s", " \U0001E054"));
  EXPECT_THAT(words_of("a\u0378b"), ElementsAre("a", "\u0378", "b"));  // no character yet
}

TEST(Llama3Words, AnySignOrSpaceMayLeadLettersAndDigitsComeInThrees) {
  EXPECT_THAT(words_of("a (big)\tcat-2023 12345", kGpt4Words),
              ElementsAre("a", " (", "big", ")", "\tcat", "-", "202", "3", " ", "123", "45"));
  EXPECT_THAT(words_of("a(big", kGpt4Words), ElementsAre("a", "(big"));
}
TEST(Llama3Words, ContractionsHaveAnyCase) {
  EXPECT_THAT(words_of("IT'S we'Ll 'x", kGpt4Words),
              ElementsAre("IT", "'S", " we", "'Ll", " '", "x"));
  EXPECT_THAT(words_of("a'\u017Fb", kGpt4Words), ElementsAre("a", "'\u017F", "b"));  // long s
}
TEST(Llama3Words, LineBreaksGoWithWhatStandsBeforeThem) {
  EXPECT_THAT(words_of("a.\n\n b  \n\t\n  c ", kGpt4Words),
              ElementsAre("a", ".\n\n", " b", "  \n\t\n", " ", " c", " "));
  EXPECT_THAT(words_of("\nword", kGpt4Words), ElementsAre("\n", "word"));
}
TEST(Qwen2Words, EveryDigitStandsAlone) {
  EXPECT_THAT(words_of("a 12", kQwen2Words), ElementsAre("a", " ", "1", "2"));
}
TEST(Gpt4oWords, LowerCaseThatTurnsToUpperCaseEndsAWord) {
  EXPECT_THAT(words_of("helloWorld HTTPServer iOS", kGpt4oWords),
              ElementsAre("hello", "World", " HTTPServer", " i", "OS"));
}
TEST(Gpt4oWords, ContractionsBelongToTheirWordAndMarksAreLetters) {
  EXPECT_THAT(words_of("don't IT'S", kGpt4oWords), ElementsAre("don't", " IT'S"));
  EXPECT_THAT(words_of("हि x", kGpt4oWords), ElementsAre("हि", " x"));
  EXPECT_THAT(words_of("\u0301A", kGpt4oWords), ElementsAre("\u0301", "A"));
}
TEST(Gpt4oWords, SlashesGoWithSigns) {
  EXPECT_THAT(words_of("a, //\n/x", kGpt4oWords), ElementsAre("a", ",", " //\n/", "x"));
}

TEST(Regex, WhatPcre2ReadsInAnotherWayIsTranslatedOrRefused) {
  EXPECT_THAT(words_of("aaaa", "a{2}+"), ElementsAre("aaaa"));  // a repetition of a repetition
  EXPECT_THAT(words_of("xaay", "xa{2}?"), ElementsAre("xaa"));
  EXPECT_THAT(words_of("x", "xa{2}?"), ElementsAre("x"));
  EXPECT_THAT(words_of("b]c", "[a[bc]]"), ElementsAre("b", "c"));
  EXPECT_THAT(words_of("\x0B\n", R"(\v)"), ElementsAre("\x0B"));
  EXPECT_THAT(words_of("a\u24B6\u00BD\u2153", R"(\w+)"), ElementsAre("a\u24B6\u00BD"));
  EXPECT_THAT(words_of("a\u24B6\u00BD\u2153", R"([\w]+)"), ElementsAre("a\u24B6"));
  for (const char* regex :
       {"a*",      "a|",          "[[:alpha:]]",   "[a&&b]",       "[a[^b]]", "[a-[b]]", "[]a]",
        R"(\h)",   R"(\1)",       R"([\W])",       R"(\p{Han})",   R"(\pL)",  R"(\p{L)", "(?m:a)",
        "(*UTF)a", "(?i:\u00DF)", "(?i:[\u00DF])", R"((?i:\xDF))", "a)",      "(a",      "[a",
        "a{",      "\\"})
    EXPECT_THROW(read_regex(regex), UnreadRegex) << regex;
}
TEST(Regex, AMatchMayBeLong) {
  const std::string text(300'000, 'a');
  EXPECT_THAT(words_of(text, "(?:a|b)+"), ElementsAre(text));
}
TEST(Regex, ASearchThatGoesBackTooOftenIsAnError) {
  const Pattern pattern = read_regex("(?:a|a|aa)+b");
  EXPECT_HEED_ERROR(pattern(std::string(60, 'a') + "cb"), ErrorCode::kInvalidArgument,
                    "tokenizer: a regular expression is one that fails on this text (match limit "
                    "exceeded), expected one that PCRE2 searches within its limits");
}

}  // namespace
}  // namespace heed
