#include "text/unicode/breaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "text/utf8.h"

namespace heed {
namespace {

using testing::ElementsAre;

std::vector<std::string> parts(std::string_view text, const std::vector<std::size_t>& begins) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : text.size();
    found.emplace_back(text.substr(begins[i], end - begins[i]));
  }
  return found;
}

std::vector<std::string> words(std::string_view text) { return parts(text, word_boundaries(text)); }
std::vector<std::string> sentences(std::string_view text) {
  return parts(text, sentence_boundaries(text));
}

TEST(WordBreaks, ApostrophesAndDecimalsStandInsideWords) {
  EXPECT_THAT(words("didn't cost 3.50, no"),
              ElementsAre("didn't", " ", "cost", " ", "3.50", ",", " ", "no"));
  EXPECT_THAT(words("\"I\""), ElementsAre("\"", "I", "\""));
}

TEST(WordBreaks, ARunOfAJapaneseScriptIsAWord) {
  EXPECT_THAT(words("私は東京タワーへ行きます。"),
              ElementsAre("私", "は", "東京", "タワー", "へ", "行", "きます", "。"));
  EXPECT_THAT(words("らーめん"), ElementsAre("らーめん"));
}

TEST(WordBreaks, AChineseCharacterIsAWord) {
  EXPECT_THAT(words("我爱你"), ElementsAre("我", "爱", "你"));
}

TEST(WordBreaks, MarksBelongToTheirLetters) {
  EXPECT_THAT(words("cafe\u0301 हिन्दी"), ElementsAre("cafe\u0301", " ", "हिन्दी"));
  EXPECT_THAT(words("שָׁלוֹם"), ElementsAre("שָׁלוֹם"));
}

TEST(WordBreaks, BytesThatAreNoTextStandAlone) {
  EXPECT_THAT(words("a\xE3z"), ElementsAre("a", "\xE3", "z"));
  EXPECT_THAT(words(""), ElementsAre());
}

// Unicode's own cases, where Debian's package unicode-data is installed.
TEST(WordBreaks, MeetsUnicodesCases) {
  const char* folder = std::getenv("UNICODE_DATA");
  const std::filesystem::path file =
      std::filesystem::path(folder != nullptr ? folder : "/usr/share/unicode") /
      "auxiliary/WordBreakTest.txt";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs " << file;
  std::ifstream lines(file);
  int cases = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line.substr(0, line.find('#')));
    std::string text;
    std::vector<std::size_t> expected;
    for (std::string field; fields >> field;) {
      if (field == "÷") expected.push_back(text.size());
      if (field != "÷" && field != "×")
        text += to_utf8(static_cast<char32_t>(std::stoul(field, nullptr, 16)));
    }
    if (text.empty()) continue;
    expected.pop_back();  // the end
    EXPECT_EQ(word_boundaries(text, {.runs_of_scripts = false}), expected) << line;
    ++cases;
  }
  EXPECT_GT(cases, 1000);
}

TEST(SentenceBreaks, EndsWithWhatClosesIt) {
  EXPECT_THAT(sentences("She said, \"Go!\" Then (she left.) End"),
              ElementsAre("She said, \"Go!\" ", "Then (she left.) ", "End"));
  EXPECT_THAT(sentences("One?! Two"), ElementsAre("One?! ", "Two"));
}

TEST(SentenceBreaks, AFullStopInsideOfANumberOrANameEndsNothing) {
  EXPECT_THAT(sentences("It is 3.14 by U.S. law. Yes"),
              ElementsAre("It is 3.14 by U.S. law. ", "Yes"));
}

TEST(SentenceBreaks, ALineEndIsOneAndOtherScriptsHaveTheirOwn) {
  EXPECT_THAT(sentences("Title\n\nText"), ElementsAre("Title\n\n", "Text"));
  EXPECT_THAT(sentences("End.\nNext"), ElementsAre("End.\n", "Next"));
  EXPECT_THAT(sentences("はい。いいえ。"), ElementsAre("はい。", "いいえ。"));
  EXPECT_THAT(sentences("क्या। हाँ"), ElementsAre("क्या। ", "हाँ"));
}

}  // namespace
}  // namespace heed
