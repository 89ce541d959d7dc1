#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/unicode/normal_form.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

using testing::ElementsAre;

std::string formed(std::string_view text, NormalForm form) {
  std::string result;
  for (const FormedCharacter& made : normal_form(text, form)) result += to_utf8(made.code);
  return result;
}

constexpr NormalForm kNfc = {.compatible = false, .composed = true};
constexpr NormalForm kNfd = {.compatible = false, .composed = false};
constexpr NormalForm kNfkc = {.compatible = true, .composed = true};
constexpr NormalForm kNfkd = {.compatible = true, .composed = false};

TEST(NormalForm, ComposesAndDecomposes) {
  EXPECT_EQ(formed("e\u0301", kNfc), "\u00E9");
  EXPECT_EQ(formed("\u00E9", kNfd), "e\u0301");
  EXPECT_EQ(formed("\uD55C", kNfd), "\u1112\u1161\u11AB");  // Hangul
  EXPECT_EQ(formed("\u1112\u1161\u11AB", kNfc), "\uD55C");
  EXPECT_EQ(formed("\u0344", kNfc), "\u0308\u0301");  // excluded from composition
  EXPECT_EQ(formed("\u212B", kNfc), "\u00C5");        // a singleton
}

TEST(NormalForm, MarksGoByTheirClass) {
  EXPECT_EQ(formed("q\u0307\u0323", kNfd), "q\u0323\u0307");
  EXPECT_EQ(formed("q\u0323\u0307", kNfc), "q\u0323\u0307");
  EXPECT_EQ(formed("a\u0315\u0300\u05AE\u0062", kNfc), "\u00E0\u05AE\u0315b");
  EXPECT_EQ(formed("a\u0327\u0305\u0301", kNfc), "a\u0327\u0305\u0301");  // blocked: same class
}

TEST(NormalForm, CompatibleFormsAreWrittenOut) {
  EXPECT_EQ(formed("\uFB01\u00BD", kNfkc), "fi1\u20442");
  EXPECT_EQ(formed("\uFB01", kNfc), "\uFB01");
  EXPECT_EQ(formed("\uFDFA", kNfkd).size(), 33U);  // the longest: 18 characters
}

TEST(NormalForm, EachCharacterKnowsItsSource) {
  const auto made = normal_form("xe\u0301\u00E9", kNfc);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[1].begin, 1U);
  EXPECT_EQ(made[1].end, 4U);
  EXPECT_EQ(made[2].begin, 4U);
  EXPECT_EQ(made[2].end, 6U);
}

TEST(NormalForm, OnlyWhatMayChangeIsLookedAt) {
  EXPECT_TRUE(is_plainly_normal("caf\u00E9", kNfc));
  EXPECT_FALSE(is_plainly_normal("caf\u00E9", kNfd));
  EXPECT_FALSE(is_plainly_normal("e\u0301", kNfc));
  for (char32_t code = 0; code < 0x300; ++code) {  // what the shortcut rests on
    const std::string text = to_utf8(code);
    if (is_plainly_normal(text, kNfc)) {
      ASSERT_EQ(formed(text, kNfc), text);
    }
    if (is_plainly_normal(text, kNfkd)) {
      ASSERT_EQ(formed(text, kNfkd), text);
    }
  }
}

TEST(Properties, AreThoseOfUnicode15) {
  EXPECT_TRUE(is_letter(U'é'));
  EXPECT_TRUE(is_letter(0x31350));  // an ideograph of 15.0
  EXPECT_TRUE(is_number(U'½'));
  EXPECT_TRUE(is_number(0x1D2C0));  // a numeral of 15.0
  EXPECT_TRUE(is_mark(0x301));
  EXPECT_TRUE(is_space(0x3000));
  EXPECT_FALSE(is_space(0x200B));
  EXPECT_TRUE(is_word_character(U'_'));
  EXPECT_FALSE(is_word_character(U'-'));
  EXPECT_EQ(traits_of(0x378), 0);  // not assigned
}

TEST(LibraryTables, AreThoseOfUnicode8And9) {
  EXPECT_TRUE(is_library_punctuation(U'$'));
  EXPECT_FALSE(is_library_punctuation(U'€'));
  EXPECT_TRUE(is_library_punctuation(U'、'));
  EXPECT_FALSE(is_library_punctuation(0x2E43));  // of 9.0
  EXPECT_TRUE(is_library_punctuation(0x166D));   // a symbol since 12.0
  EXPECT_TRUE(is_library_accent(0x301));
  EXPECT_FALSE(is_library_accent(0x7FD));  // of 11.0
  EXPECT_TRUE(is_library_mark(0x1E000));   // of 9.0
  EXPECT_FALSE(is_library_mark(0x7FD));
  EXPECT_TRUE(is_library_hidden(0x200B));
  EXPECT_FALSE(is_library_hidden(0x8E2));        // of 9.0
  EXPECT_EQ(formed("\u32FF", kNfkc), "\u32FF");  // of 12.1: its form is two ideographs
}

TEST(Properties, LowerCaseMayBeTwoCharacters) {
  EXPECT_EQ(lower_case(U'Ü').codes[0], U'ü');
  const LowerCase dotted = lower_case(0x130);
  EXPECT_EQ(dotted.count, 2);
  EXPECT_EQ(dotted.codes[0], U'i');
  EXPECT_EQ(dotted.codes[1], char32_t{0x307});
}

TEST(Graphemes, KeepEmojiSyllablesAndMarksTogether) {
  const auto parts = [](std::string_view text) {
    std::vector<std::string> result;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = grapheme_end(text, begin);
      result.emplace_back(text.substr(begin, end - begin));
      begin = end;
    }
    return result;
  };
  EXPECT_THAT(parts("ae\u0301\r\nb"), ElementsAre("a", "e\u0301", "\r\n", "b"));
  EXPECT_THAT(parts("👩‍🚀🇩🇪🇯🇵"), ElementsAre("👩‍🚀", "🇩🇪", "🇯🇵"));
}

TEST(TerminalCells, AreNoneForMarksAndTwoForWideCharacters) {
  EXPECT_EQ(terminal_cells(U'a'), 1);
  EXPECT_EQ(terminal_cells(0x301), 0);
  EXPECT_EQ(terminal_cells(0x200D), 0);
  EXPECT_EQ(terminal_cells(U'猫'), 2);
  EXPECT_EQ(terminal_cells(U'🦉'), 2);
  EXPECT_EQ(terminal_cells(0x378), 1);
}

}  // namespace
}  // namespace heed
