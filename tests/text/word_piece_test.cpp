#include "text/word_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "text/utf8.h"

namespace heed {
namespace {

using testing::ElementsAre;

constexpr std::string_view kWords =
    "Low lower lowest. Newest widest low low newest widest newest, newest!\n";

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, std::string_view text,
                                   bool add_special = false) {
  std::vector<std::string> pieces;
  for (const TokenId id : tokenizer.encode(text, add_special).ids)
    pieces.push_back(tokenizer.piece(id));
  return pieces;
}

TEST(WordPieceTraining, FrequentPairsBecomePieces) {
  const auto tokenizer = train_word_piece(kWords, {.vocabulary_size = 60});
  EXPECT_THAT(pieces_of(*tokenizer, "newest low"), ElementsAre("newest", "low"));
  EXPECT_THAT(pieces_of(*tokenizer, "west"), ElementsAre("w", "##est"));
}

TEST(WordPieceTraining, PiecesInsideOfAWordAreMarked) {
  const auto tokenizer = train_word_piece("ab ab ab b!", {.vocabulary_size = 10});
  // Five special tokens, !, a, b, ##b (no other stands inside of a word), and what `a ##b` makes.
  EXPECT_EQ(tokenizer->piece(6), "a");
  EXPECT_EQ(tokenizer->piece(8), "##b");
  EXPECT_EQ(tokenizer->piece(9), "ab");
  EXPECT_THAT(pieces_of(*tokenizer, "abb"), ElementsAre("ab", "##b"));
  EXPECT_THAT(pieces_of(*tokenizer, "aba"), ElementsAre("[UNK]"));
}

TEST(WordPieceTraining, WordsAreInLowerCaseWithoutAccents) {
  const auto tokenizer = train_word_piece("\u00C9t\u00E9 ete ETE", {.vocabulary_size = 30});
  EXPECT_THAT(pieces_of(*tokenizer, "\u00C9T\u00E9"), ElementsAre("ete"));
}

TEST(WordPieceTraining, WhatTheTextDoesNotHaveIsUnknown) {
  const auto tokenizer = train_word_piece("ab ab", {.vocabulary_size = 10});
  EXPECT_THAT(pieces_of(*tokenizer, "ab c"), ElementsAre("ab", "[UNK]"));
  EXPECT_TRUE(tokenizer->is_special(tokenizer->find("[UNK]")));
}

TEST(WordPieceTraining, ATextStandsBetweenItsSpecialTokens) {
  const auto tokenizer = train_word_piece("ab ab a", {.vocabulary_size = 10});
  EXPECT_THAT(pieces_of(*tokenizer, "ab", true), ElementsAre("[CLS]", "ab", "[SEP]"));
  const Encoding pair = tokenizer->encode_pair("ab", "a", true);
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 1, 1));
}

TEST(WordPieceTraining, ItsJsonGivesTheSameTokenizer) {
  const test::Scratch scratch;
  const auto tokenizer = train_word_piece(kWords, {.vocabulary_size = 50});
  write_file(scratch / "tokenizer.json", tokenizer->to_json());
  const auto loaded = load_tokenizer(scratch / "tokenizer.json");
  EXPECT_EQ(loaded->encode("Slower news", true).ids, tokenizer->encode("Slower news", true).ids);
}

TEST(WordPieceTraining, AVocabularyBelowTheCharactersIsAnError) {
  EXPECT_HEED_ERROR(train_word_piece("ab", {.vocabulary_size = 7}), ErrorCode::kInvalidArgument,
                    "tokenizer: vocabulary_size is 7, expected at least 8: 5 special tokens, 2 "
                    "characters that the text has and 1 that it has inside of words");
}

TEST(WordPieceTraining, OfManyCharactersTheFrequentOnesAreKept) {
  std::string text = "aa aa";
  for (char32_t code = 0x4E00; code < 0x4E00 + 1100; ++code) text += " " + to_utf8(code);
  const auto tokenizer = train_word_piece(text, {.vocabulary_size = 4000});
  EXPECT_GE(tokenizer->find("a"), 0);
  EXPECT_LT(tokenizer->vocabulary_size(), 2010);
}

}  // namespace
}  // namespace heed
