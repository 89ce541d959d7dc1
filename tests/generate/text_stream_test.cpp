#include "generate/text_stream.h"

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "support/scratch.h"
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
  EXPECT_EQ(stream.push(ids_of("x", 1)[0]), "\xEF\xBF\xBDx");  // like tokenizers
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

// "▁a", "▁b" and bytes, as SentencePiece has them: the first mark of a text is no space.
std::unique_ptr<Tokenizer> sentence_pieces() {
  const test::Scratch scratch;
  write_file(scratch / "tokenizer.json",
             R"({"added_tokens": [{"id": 0, "content": "<s>", "special": true}],
      "normalizer": {"type": "Prepend", "prepend": "▁"}, "pre_tokenizer": null,
      "decoder": {"type": "Sequence", "decoders": [
          {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
          {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
      "model": {"type": "BPE", "merges": [], "vocab": {"<s>": 0, "▁a": 1, "▁b": 2, "<0xC3>": 3,
                                                       "<0xA9>": 4}}})");
  return load_tokenizer(scratch.folder());
}

TEST(TextStream, ASpaceAtTheBeginningIsThereWhereAPromptStandsBeforeIt) {
  const auto tokenizer = sentence_pieces();
  TextStream alone(*tokenizer, std::vector<TokenId>{0}, {});
  EXPECT_EQ(alone.push(1), "a");
  EXPECT_EQ(alone.push(0), "");
  EXPECT_EQ(alone.push(2), " b");
  TextStream behind(*tokenizer, std::vector<TokenId>{1, 0, 0, 0, 0, 0}, {});
  EXPECT_EQ(behind.push(1), " a");
}

std::unique_ptr<Tokenizer> metaspace(const std::string& scheme) {
  const test::Scratch scratch;
  write_file(scratch / "tokenizer.json",
             R"({"added_tokens": [{"id": 0, "content": "<s>", "special": true}],
      "normalizer": null, "pre_tokenizer": null,
      "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")" +
                 scheme + R"("},
      "model": {"type": "BPE", "merges": [], "vocab": {"<s>": 0, "▁a": 1, "▁b": 2, "c": 3, "▁": 4,
                                                       "▁▁": 5, "▁e▁f": 6}}})");
  return load_tokenizer(scratch.folder());
}

// What tokenizers' `decode` gives of the whole, less what it gives of the prompt.
TEST(TextStream, AMetaspaceTokenIsWrittenAsWhereItStands) {
  const auto text = [](const std::string& scheme, const std::vector<TokenId>& prompt,
                       const std::vector<TokenId>& ids) {
    const auto tokenizer = metaspace(scheme);
    TextStream stream(*tokenizer, prompt, {});
    std::string all;
    for (const TokenId id : ids) all += stream.push(id);
    return all + stream.finish();
  };
  for (const char* scheme : {"always", "first"}) {
    EXPECT_EQ(text(scheme, {0}, {1, 2}), "a b");
    EXPECT_EQ(text(scheme, {}, {4, 4, 1}), "  a");
    EXPECT_EQ(text(scheme, {}, {5, 1}), " a");  // no mark of the first token is a space
    EXPECT_EQ(text(scheme, {}, {6, 6}), "ef e f");
    EXPECT_EQ(text(scheme, {0, 3}, {5, 1}), "   a");
    EXPECT_EQ(text(scheme, {3, 3, 3, 3, 3}, {6}), " e f");
    EXPECT_EQ(text(scheme, {1, 2, 1, 2, 1, 2}, {1, 2, 1, 2, 1, 2, 3}), " a b a b a bc");
  }
  EXPECT_EQ(text("never", {0}, {1, 2}), " a b");
  EXPECT_EQ(text("never", {}, {6}), " e f");
}

TEST(TextStream, BytesOfACharacterAreHeldBackUntilItIsWhole) {
  const auto tokenizer = sentence_pieces();
  TextStream stream(*tokenizer, {}, {});
  EXPECT_EQ(stream.push(1), "a");
  EXPECT_EQ(stream.push(3), "");
  EXPECT_EQ(stream.push(4), "é");
}

// Pieces of words without a mark, and of words that begin with a space when they do not come first.
TEST(TextStream, WordPiecesJoinAsTheyAreDecoded) {
  const test::Scratch scratch;
  write_file(scratch / "tokenizer.json",
             R"({"normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
      "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
      "model": {"type": "WordPiece", "unk_token": "?",
                "vocab": {"?": 0, "walk": 1, "##s": 2, ".": 3}}})");
  const auto tokenizer = load_tokenizer(scratch.folder());
  TextStream stream(*tokenizer, {}, {});
  std::string text;
  for (const TokenId id : {1, 2, 1, 2, 2, 1, 3, 1}) text += stream.push(id);
  EXPECT_EQ(text + stream.finish(), "walks walkss walk. walk");
}

TEST(TextStream, SpecialTokensHaveNoText) {
  TextStream stream(bytes(), {}, {});
  EXPECT_EQ(stream.push(bytes().find("<|endoftext|>")), "");
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace
}  // namespace heed
