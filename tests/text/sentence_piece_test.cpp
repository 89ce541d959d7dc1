// SentencePiece's model files, written here piece by piece.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heed/tokenizer.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/protobuf_writer.h"
#include "support/scratch.h"

namespace heed {
namespace {

using test::ProtobufWriter;
using testing::ElementsAre;

constexpr int kUnknown = 2;
constexpr int kControl = 3;
constexpr int kUserDefined = 4;
constexpr int kByte = 6;

struct Entry {
  std::string text;
  float score = 0;
  int type = 1;
};

struct Settings {
  int algorithm = 1;  // 1 unigram, 2 BPE
  bool byte_fallback = false;
  bool add_prefix = true;
  bool remove_extra_spaces = true;
  std::int64_t unknown = 0;
  std::int64_t begin = 1;
  std::int64_t end = 2;
};

std::string model_file(const std::vector<Entry>& entries, const Settings& settings = {}) {
  ProtobufWriter model;
  for (const Entry& entry : entries) {
    ProtobufWriter piece;
    piece.bytes(1, entry.text).number(2, entry.score).varint(3, static_cast<unsigned>(entry.type));
    model.message(1, piece);
  }
  ProtobufWriter trainer;
  trainer.varint(3, static_cast<unsigned>(settings.algorithm));
  trainer.varint(35, settings.byte_fallback ? 1 : 0);
  trainer.varint(40, static_cast<std::uint64_t>(settings.unknown));
  trainer.varint(41, static_cast<std::uint64_t>(settings.begin));
  trainer.varint(42, static_cast<std::uint64_t>(settings.end));
  ProtobufWriter normalizer;
  normalizer.varint(3, settings.add_prefix ? 1 : 0);
  normalizer.varint(4, settings.remove_extra_spaces ? 1 : 0);
  return model.message(2, trainer).message(3, normalizer).text();
}

std::vector<Entry> special() {
  return {{"<unk>", 0, kUnknown}, {"<s>", 0, kControl}, {"</s>", 0, kControl}};
}

std::vector<Entry> with_special(std::vector<Entry> entries) {
  std::vector<Entry> all = special();
  all.insert(all.end(), entries.begin(), entries.end());
  return all;
}

class SentencePiece : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> load(const std::string& name, const std::string& content) {
    write_file(scratch_ / name, content);
    return load_tokenizer(scratch_ / name);
  }
  test::Scratch scratch_;
};

TEST_F(SentencePiece, UnigramTakesTheWayOfTheLargestSum) {
  // ab + c = -3 - 1 beats a + bc = -2 - 3 and a + b + c = -2 - 2 - 1.
  const auto tokenizer =
      load("x.model", model_file(with_special(
                          {{"▁", -1}, {"a", -2}, {"b", -2}, {"c", -1}, {"ab", -3}, {"bc", -3}})));
  EXPECT_THAT(tokenizer->encode("abc", false).ids, ElementsAre(3, 7, 6));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{3, 7, 6}, false), "abc");
}

TEST_F(SentencePiece, NeighbouringUnknownCharactersAreOneToken) {
  const auto tokenizer = load("x.model", model_file(with_special({{"▁", -1}, {"a", -2}})));
  const Encoding encoding = tokenizer->encode("a日本a", false);
  EXPECT_THAT(encoding.ids, ElementsAre(3, 4, 0, 4));
  EXPECT_EQ(encoding.spans[2].begin, 1);
  EXPECT_EQ(encoding.spans[2].end, 7);
  EXPECT_EQ(tokenizer->decode(encoding.ids, false), "a \u2047 a");
}

TEST_F(SentencePiece, ExtraSpacesGoAndSpansStayExact) {
  const auto tokenizer =
      load("x.model", model_file(with_special({{"▁a", -1}, {"▁", -2}, {"a", -2}})));
  const Encoding encoding = tokenizer->encode("  a   a  ", false);
  EXPECT_THAT(encoding.ids, ElementsAre(3, 3));
  EXPECT_EQ(encoding.spans[0].begin, 2);
  EXPECT_EQ(encoding.spans[0].end, 3);
  EXPECT_EQ(encoding.spans[1].begin, 3);
  EXPECT_EQ(encoding.spans[1].end, 7);
  EXPECT_TRUE(tokenizer->encode("   ", false).ids.empty());
}

TEST_F(SentencePiece, BpeMergesThePieceOfTheHighestScoreFirst) {
  // bc (-1) before ab (-2): a bc, whichever stands first in the file.
  const auto tokenizer = load(
      "x.model",
      model_file(with_special({{"▁", -9}, {"a", -9}, {"b", -9}, {"c", -9}, {"ab", -2}, {"bc", -1}}),
                 {.algorithm = 2}));
  EXPECT_THAT(tokenizer->encode("abc", false).ids, ElementsAre(3, 4, 8));
}

std::vector<Entry> with_bytes(std::vector<Entry> entries) {
  std::vector<Entry> all = special();
  for (int byte = 0; byte < 256; ++byte) all.push_back({fmt::format("<0x{:02X}>", byte), 0, kByte});
  all.insert(all.end(), entries.begin(), entries.end());
  return all;
}

TEST_F(SentencePiece, CharactersOutsideBecomeBytesWhereTheModelSaysSo) {
  for (const int algorithm : {1, 2}) {
    const auto tokenizer =
        load("x.model", model_file(with_bytes({{"▁", -1}, {"a", -1}}),
                                   {.algorithm = algorithm, .byte_fallback = true}));
    const Encoding encoding = tokenizer->encode("aé", false);
    EXPECT_THAT(encoding.ids, ElementsAre(259, 260, 3 + 0xC3, 3 + 0xA9));
    EXPECT_EQ(encoding.spans[2].begin, 1);
    EXPECT_EQ(tokenizer->decode(encoding.ids, false), "aé");
  }
}

TEST_F(SentencePiece, SymbolsOfTheUserAreTokensWhereverTheyStand) {
  for (const int algorithm : {1, 2}) {
    const auto tokenizer = load("x.model", model_file(with_special({{"▁", -1},
                                                                    {"a", -1},
                                                                    {"b", -1},
                                                                    {"ab", -0.1F},
                                                                    {"<b>", 0, kUserDefined},
                                                                    {"<", -1},
                                                                    {">", -1}}),
                                                      {.algorithm = algorithm}));
    EXPECT_THAT(tokenizer->encode("a<b>ab", false).ids, ElementsAre(3, 4, 7, 6));
  }
}

TEST_F(SentencePiece, AFileAloneReadsControlPiecesAsText) {
  const auto tokenizer =
      load("x.model", model_file(with_special({{"▁", -1}, {"<", -1}, {"s", -1}, {">", -1}})));
  EXPECT_THAT(tokenizer->encode("<s>", true).ids, ElementsAre(3, 4, 5, 6));
}

TEST_F(SentencePiece, AFolderOfLlamaPutsTheBeginInFrontAndFindsControlPieces) {
  write_file(scratch_ / "tokenizer.model",
             model_file(with_special({{"▁", -1}, {"a", -1}, {"▁a", -0.5F}}), {.algorithm = 2}));
  const auto tokenizer = load_tokenizer(scratch_.folder());
  EXPECT_THAT(tokenizer->encode("a</s>", true).ids, ElementsAre(1, 5, 2));
  EXPECT_TRUE(tokenizer->is_special(2));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{1, 5, 5}, true), "a a");
  EXPECT_EQ(tokenizer->token_bytes(5), " a");
  write_file(scratch_ / "tokenizer_config.json",
             R"({"add_bos_token": false, "add_eos_token": true,
                 "added_tokens_decoder": {"6": {"content": "<pad>", "special": true}}})");
  const auto configured = load_tokenizer(scratch_.folder());
  EXPECT_THAT(configured->encode("a<pad>", true).ids, ElementsAre(5, 6, 2));
}

TEST_F(SentencePiece, AFolderOfT5PutsTheEndBehindAndHasSentinels) {
  const std::vector<Entry> entries = {
      {"<pad>", 0, kControl}, {"</s>", 0, kControl}, {"<unk>", 0, kUnknown}, {"▁a", -1}};
  write_file(scratch_ / "spiece.model", model_file(entries, {.unknown = 2, .begin = -1, .end = 1}));
  const auto tokenizer = load_tokenizer(scratch_.folder());
  EXPECT_THAT(tokenizer->encode("a<extra_id_0>", true).ids, ElementsAre(3, 103, 1));
  EXPECT_EQ(tokenizer->vocabulary_size(), 104);
  write_file(scratch_ / "tokenizer_config.json", R"({"extra_ids": 0})");
  EXPECT_EQ(load_tokenizer(scratch_.folder())->vocabulary_size(), 4);
  write_file(scratch_ / "tokenizer_config.json", R"({"extra_ids": 2.0})");
  EXPECT_EQ(load_tokenizer(scratch_.folder())->find("<extra_id_0>"), 5);
  write_file(scratch_ / "tokenizer_config.json", "{}");
  const Encoding pair = tokenizer->encode_pair("a", "a a", true);
  EXPECT_THAT(pair.ids, ElementsAre(3, 1, 3, 3, 1));
  write_file(scratch_ / "spiece.model", model_file(entries));
  EXPECT_HEED_ERROR(
      load_tokenizer(scratch_.folder()), ErrorCode::kCorrupt,
      (scratch_ / "spiece.model").string() + ": unk_id is 0, expected 2, the unknown piece");
}

TEST_F(SentencePiece, AFolderOfXlmRHasTheIdsOfFairseq) {
  write_file(scratch_ / "sentencepiece.bpe.model",
             model_file(with_special({{"▁", -3}, {"▁a", -1}, {"b", -2}})));
  const auto tokenizer = load_tokenizer(scratch_.folder());
  EXPECT_EQ(tokenizer->vocabulary_size(), 8);
  EXPECT_THAT(tokenizer->encode("a b", true).ids, ElementsAre(0, 5, 4, 6, 2));
  EXPECT_THAT(tokenizer->encode("a <mask>z", true).ids, ElementsAre(0, 5, 7, 4, 3, 2));
  const Encoding pair = tokenizer->encode_pair("a", "a", true);
  EXPECT_THAT(pair.ids, ElementsAre(0, 5, 2, 2, 5, 2));
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_TRUE(tokenizer->is_special(tokenizer->find("<pad>")));
  write_file(scratch_ / "config.json", R"({"model_type": "camembert"})");
  const auto camembert = load_tokenizer(scratch_.folder());
  EXPECT_THAT(camembert->encode("a b", true).ids, ElementsAre(5, 8, 7, 9, 6));
  EXPECT_EQ(camembert->find("<mask>"), 10);
}

TEST_F(SentencePiece, AFolderOfMarianHasIdsInVocabJsonAndTwoTokenizers) {
  const std::vector<Entry> source = {{"<unk>", 0, kUnknown},
                                     {"<s>", 0, kControl},
                                     {"</s>", 0, kControl},
                                     {"▁a", -1},
                                     {"▁b", -1},
                                     {"▁c", -1}};
  const std::vector<Entry> target = {
      {"<unk>", 0, kUnknown}, {"<s>", 0, kControl}, {"</s>", 0, kControl}, {"▁x", -1}, {"▁", -2}};
  write_file(scratch_ / "source.spm", model_file(source));
  write_file(scratch_ / "target.spm", model_file(target));
  write_file(scratch_ / "vocab.json",
             R"({"</s>": 0, "<unk>": 1, "▁a": 2, "▁b": 3, "▁x": 4, ">>fr<<": 5, "<pad>": 6})");
  const auto tokenizer = load_tokenizer(scratch_.folder());
  EXPECT_THAT(tokenizer->encode("a b", true).ids, ElementsAre(2, 3, 0));
  EXPECT_THAT(tokenizer->encode(">>fr<< a c", true).ids, ElementsAre(5, 2, 1, 0));
  EXPECT_EQ(tokenizer->vocabulary_size(), 7);
  const auto of_target = load_target_tokenizer(scratch_.folder());
  ASSERT_NE(of_target, nullptr);
  EXPECT_EQ(of_target->decode(std::vector<TokenId>{4, 4, 0}, true), "x x");
}

TEST_F(SentencePiece, ItsJsonGivesTheSameTokensOfPlainText) {
  for (const int algorithm : {1, 2}) {
    write_file(scratch_ / "tokenizer.model",
               model_file(with_special({{"▁", -4}, {"a", -4}, {"b", -5}, {"▁a", -2}, {"ab", -1}}),
                          {.algorithm = algorithm}));
    const auto tokenizer = load_tokenizer(scratch_.folder());
    const auto copy = load("tokenizer.json", tokenizer->to_json());
    for (const char* text : {"a", "ab a  b", "aab</s>b", "a日b"}) {
      EXPECT_EQ(copy->encode(text, true).ids, tokenizer->encode(text, true).ids) << text;
      const auto ids = tokenizer->encode(text, true).ids;
      EXPECT_EQ(copy->decode(ids, true), tokenizer->decode(ids, true));
    }
    std::filesystem::remove(scratch_ / "tokenizer.json");
  }
}

TEST_F(SentencePiece, ItsJsonPutsAMarkBeforeABlankToo) {
  write_file(scratch_ / "tokenizer.model",
             model_file(with_special({{"▁", -4}, {"a", -4}, {"▁a", -2}, {"▁▁", -3}}),
                        {.algorithm = 2, .remove_extra_spaces = false}));
  const auto tokenizer = load_tokenizer(scratch_.folder());
  const auto copy = load("tokenizer.json", tokenizer->to_json());
  EXPECT_THAT(copy->encode(" a", false).ids, ElementsAre(3, 5));
  for (const char* text : {" a", "  ", "a </s> a", "</s>a"})
    EXPECT_EQ(copy->encode(text, true).ids, tokenizer->encode(text, true).ids) << text;
}

TEST_F(SentencePiece, BrokenFilesAreOneLine) {
  const std::string good = model_file(with_special({{"a", -1}}));
  const std::string path = (scratch_ / "x.model").string();
  EXPECT_HEED_ERROR(load("x.model", ""), ErrorCode::kCorrupt,
                    path + ": pieces is a list of 0, expected a list of 1 to 2097152");
  EXPECT_HEED_ERROR(
      load("x.model", std::string("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F")), ErrorCode::kCorrupt,
      path + ": byte 9: 72057594037927935 bytes are expected, the message has 0 left");
  EXPECT_HEED_ERROR(load("x.model", model_file({{"a", -1}})), ErrorCode::kCorrupt,
                    path + ": pieces is a list without an unknown piece, expected one");
  EXPECT_HEED_ERROR(load("x.model", model_file(with_special({{"\xFF", -1}}))), ErrorCode::kCorrupt,
                    path + ": piece 3 is '<0xFF>', expected a text in UTF-8 that is not empty");
  EXPECT_HEED_ERROR(load("x.model", model_file(special(), {.algorithm = 9})), ErrorCode::kCorrupt,
                    path +
                        ": model_type is 9, expected 1 (unigram), 2 (BPE), 3 (words) or 4 "
                        "(characters)");
  for (std::size_t size = 0; size < good.size(); ++size) {
    try {
      load("x.model", good.substr(0, size))->encode("a b", true);
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(path)) << error.what();
    }
  }
}

}  // namespace
}  // namespace heed
