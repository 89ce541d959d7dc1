#include "generate/text_stream.h"

#include <gtest/gtest.h>

#include "text/byte_bpe.h"

namespace heed {
namespace {

// One token a byte, and <|endoftext|>.
const Tokenizer& bytes() {
  static const auto tokenizer = train_byte_bpe("", {.vocabulary_size = 257});
  return *tokenizer;
}

// The pieces that the tokens of `text` give, and behind them what `finish` gives.
std::vector<std::string> pieces(const std::string& text, const std::vector<std::string>& stops) {
  TextStream stream(bytes(), {}, stops);
  std::vector<std::string> all;
  for (const TokenId id : bytes().encode(text, false).ids) {
    all.push_back(stream.push(id));
    if (stream.stopped()) break;
  }
  all.push_back(stream.finish());
  return all;
}

std::vector<TokenId> ids_of(const std::string& whole, std::size_t count) {
  std::vector<TokenId> ids = bytes().encode(whole, false).ids;
  ids.resize(count);
  return ids;
}

using Pieces = std::vector<std::string>;

TEST(TextStream, GivesEachCharacterWhenItIsWhole) {
  EXPECT_EQ(pieces("aé日🦉b", {}), (Pieces{"a", "", "é", "", "", "日", "", "", "", "🦉", "b", ""}));
}

TEST(TextStream, ACharacterThatIsNeverWholeIsReplaced) {
  TextStream stream(bytes(), {}, {});
  for (const TokenId id : ids_of("日", 2)) EXPECT_EQ(stream.push(id), "");
  EXPECT_EQ(stream.push(ids_of("x", 1)[0]), "\xEF\xBF\xBD\xEF\xBF\xBDx");
  EXPECT_EQ(stream.push(ids_of("é", 1)[0]), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
}

TEST(TextStream, EndsBeforeAStopString) {
  EXPECT_EQ(pieces("abEND of it", {"END"}), (Pieces{"a", "b", "", "", "", ""}));
}

TEST(TextStream, HoldsBackWhatMayBecomeAStopString) {
  EXPECT_EQ(pieces("aaab", {"aab"}), (Pieces{"", "", "a", "", ""}));
  EXPECT_EQ(pieces("ENxD", {"END"}), (Pieces{"", "", "ENx", "D", ""}));
  EXPECT_EQ(pieces("xEN", {"END"}), (Pieces{"x", "", "", "EN"}));
}

TEST(TextStream, OfSeveralStopStringsTheFirstInTheTextEndsIt) {
  EXPECT_EQ(pieces("one two", {"two", "ne"}), (Pieces{"o", "", "", ""}));
}

TEST(TextStream, SpecialTokensHaveNoText) {
  TextStream stream(bytes(), {}, {});
  EXPECT_EQ(stream.push(bytes().find("<|endoftext|>")), "");
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace
}  // namespace heed
