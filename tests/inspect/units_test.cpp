#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heed/look.h"
#include "inspect/rows/words.h"

namespace heed {
namespace {

using testing::ElementsAre;

std::vector<SessionToken> spelled(const std::vector<std::string>& texts) {
  std::vector<SessionToken> tokens;
  for (const std::string& text : texts) tokens.push_back({.bytes = text});
  return tokens;
}

TEST(TokenUnits, PiecesOfAWordAreOneWord) {
  const auto tokens =
      spelled({"<s>", "Once", " up", "on", ",", " didn", "'", "t", " ", "\n", "so"});
  EXPECT_THAT(token_units(tokens, nullptr).words, ElementsAre(0, 1, 2, 4, 5, 8, 9, 10));
}

TEST(TokenUnits, BytesOfACharacterAreOneCharacter) {
  const auto tokens = spelled({"a", "\xE6", "\x97", "\xA5", "\xE6\x9C", "\xAC", "!"});
  const TokenUnits units = token_units(tokens, nullptr);
  EXPECT_THAT(units.characters, ElementsAre(0, 1, 4, 6));
  EXPECT_THAT(units.words, ElementsAre(0, 1, 4, 6));  // Han without Japanese letters
}

TEST(TokenUnits, BytesThatAreNoTextAreCharactersOfTheirOwn) {
  EXPECT_THAT(token_units(spelled({"\xE6", "\xE6", "z"}), nullptr).characters,
              ElementsAre(0, 1, 2));
}

TEST(TokenUnits, SpacesThatATokenizerSkipsDivideWords) {
  std::vector<SessionToken> tokens = spelled({"play", "ing", "well"});
  tokens[0].end = 4;
  tokens[1].begin = 4;
  tokens[1].end = 7;
  tokens[2].begin = 8;
  tokens[2].end = 12;
  EXPECT_THAT(token_units(tokens, nullptr).words, ElementsAre(0, 2));
}

TEST(TokenUnits, ASentenceBeginsWithTheTokenThatHoldsItsFirstLetter) {
  const auto tokens = spelled({"Go", ".", "\"", " He", " ran", ".", "\n", "End"});
  EXPECT_THAT(token_units(tokens, nullptr).sentences, ElementsAre(0, 3, 7));
}

TEST(TokenUnits, ASpecialTokenIsAUnitOfItsOwn) {
  std::vector<SessionToken> tokens = spelled({"[CLS]", "a", "b", "[SEP]"});
  tokens[0].text = tokens[3].text = -1;
  const TokenUnits units = token_units(tokens, nullptr);
  EXPECT_THAT(units.words, ElementsAre(0, 1, 3));
  EXPECT_THAT(units.sentences, ElementsAre(0, 1, 3));
  EXPECT_THAT(units.characters, ElementsAre(0, 1, 2, 3));
}

TEST(TokenUnits, NamesAreReadAndWritten) {
  for (const Unit unit : {Unit::kToken, Unit::kCharacter, Unit::kWord, Unit::kSentence})
    EXPECT_EQ(unit_of(unit_name(unit)), unit);
  EXPECT_EQ(unit_of("page"), std::nullopt);
}

std::vector<std::string> words_of(const std::vector<SessionToken>& tokens) {
  std::vector<std::string> words;
  for (const WordPiece& piece : pieces_of_words(tokens)) words.push_back(piece.word);
  return words;
}

TEST(PiecesOfWords, HaveTheWholeWordAndTheirPlaceInIt) {
  const auto tokens =
      spelled({" B", "ob", " ran", " to", " Ann", "a's", " d", "og", ".", "で", "す"});
  EXPECT_THAT(words_of(tokens),
              ElementsAre("Bob", "Bob", "", "", "", "", "dog", "dog", "", "", ""));
  EXPECT_EQ(pieces_of_words(tokens)[1].begin, 1U);
  EXPECT_EQ(pieces_of_words(tokens)[1].end, 3U);
}

TEST(PiecesOfWords, AreNoneOfAModelThatReadsLettersAndNoPartsOfCharacters) {
  EXPECT_THAT(words_of(spelled({"t", "h", "e"})), ElementsAre("", "", ""));
  EXPECT_THAT(words_of(spelled({" \xC3", "\xA9", "t\xC3"})), ElementsAre("", "", ""));
}

TEST(TokenUnits, NoTokensMakeNoUnits) { EXPECT_TRUE(token_units({}, nullptr).words.empty()); }

}  // namespace
}  // namespace heed
