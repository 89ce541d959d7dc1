#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/tokenizer.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "text/byte_bpe.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::ElementsAre;

class LoadTokenizer : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> load(const json& content) {
    write_file(path_, content.dump());
    return load_tokenizer(path_);
  }
  void expect_error(const json& content, ErrorCode code, const std::string& message) {
    EXPECT_HEED_ERROR(load(content), code, path_.string() + ": " + message);
  }
  // The value at fault begins behind `before` in the file.
  void expect_error_behind(const std::string& before, const json& content, ErrorCode code,
                           const std::string& message) {
    const std::string text = content.dump();
    const std::string line = text.substr(0, text.find(before) + before.size());
    const auto column =
        1 + std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });  // characters
    expect_error(content, code, fmt::format("line 1, column {}: {}", column, message));
  }
  // Byte-level, with merges "l o" and "lo w".
  static json small() {
    return json::parse(train_byte_bpe("low low", {.vocabulary_size = 259})->to_json());
  }
  static json added(const std::string& content, TokenId id) {
    return {{"content", content}, {"id", id}, {"special", true}, {"normalized", false}};
  }
  test::Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "tokenizer.json";
};

TEST_F(LoadTokenizer, AFolderWithoutOneHasNone) {
  EXPECT_EQ(load_tokenizer(scratch_.folder()), nullptr);
}

TEST_F(LoadTokenizer, AnAbsentPathIsNamed) {
  EXPECT_HEED_ERROR(load_tokenizer("/nowhere"), ErrorCode::kNotFound,
                    "/nowhere: no such file or folder");
}

TEST_F(LoadTokenizer, BrokenFilesAreErrors) {
  write_file(path_, R"({"model": )");
  EXPECT_HEED_ERROR(load_tokenizer(path_), ErrorCode::kCorrupt,
                    path_.string() + ": line 1, column 11: not JSON: ends too early");
  expect_error(json::array(), ErrorCode::kCorrupt,
               "model is not given, expected that of a tokenizer.json, an object");
  json content = small();
  content["model"]["merges"].push_back("l z");
  expect_error_behind(
      "\"lo w\",", content, ErrorCode::kCorrupt,
      "model.merges[2] is \"l z\", expected two pieces that are in the vocabulary, as "
      "their joint form is");
  content = small();
  content["model"]["vocab"]["zz"] = -3;
  expect_error_behind("\"zz\":", content, ErrorCode::kCorrupt,
                      "the id of \"zz\" is -3, expected a whole number below 2097152");
  content = small();
  content["model"]["vocab"]["zz"] = 258;
  expect_error_behind("\"zz\":", content, ErrorCode::kCorrupt,
                      "the id of \"zz\" is 258, expected another than that of \"low\"");
  content = small();
  content["added_tokens"] = json::array({3});
  expect_error_behind(
      "\"added_tokens\":[", content, ErrorCode::kCorrupt,
      "an entry of added_tokens is 3, expected an object with a 'content' that is not "
      "empty");
}

TEST_F(LoadTokenizer, AnUnknownComponentIsNamedWithItsPlaceAndWhatIsKnown) {
  json content = small();
  content["normalizer"] = {{"type", "Upside"}};
  expect_error_behind("\"normalizer\":", content, ErrorCode::kUnsupported,
                      "normalizer is Upside, expected one of BertNormalizer, ByteLevel, Lowercase, "
                      "NFC, NFD, NFKC, NFKD, Nmt, "
                      "Precompiled, Prepend, Replace, Sequence, Strip, StripAccents");
  content = small();
  content["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
  expect_error_behind(
      "\"pre_tokenizer\":", content, ErrorCode::kUnsupported,
      "pre_tokenizer is UnicodeScripts, expected one of BertPreTokenizer, ByteLevel, "
      "CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, "
      "WhitespaceSplit");
  content = small();
  content["post_processor"] = {{"type", "Frames"}};
  expect_error_behind("\"post_processor\":", content, ErrorCode::kUnsupported,
                      "post_processor is Frames, expected null, BertProcessing, ByteLevel, "
                      "RobertaProcessing, TemplateProcessing or a Sequence of them");
  content = small();
  content["decoder"] = {{"type", "CTC"}};
  expect_error_behind("\"decoder\":", content, ErrorCode::kUnsupported,
                      "decoder is CTC, expected one of BPEDecoder, ByteFallback, ByteLevel, Fuse, "
                      "Metaspace, Replace, Sequence, Strip, WordPiece");
  content = small();
  content["model"]["type"] = "Letters";
  expect_error_behind("\"model\":", content, ErrorCode::kUnsupported,
                      "model is Letters, expected one of BPE, Unigram, WordLevel, WordPiece");
}

TEST_F(LoadTokenizer, WhatIsNotHonouredIsRefused) {
  json content = small();
  content["model"]["dropout"] = 0.1;
  expect_error_behind("\"dropout\":", content, ErrorCode::kUnsupported,
                      "model.dropout is 0.1, expected 0 or null");
  content = small();
  content["pre_tokenizer"] = {{"type", "Sequence"},
                              {"pretokenizers", {content["pre_tokenizer"], {{"type", "Digits"}}}}};
  expect_error_behind("\"pretokenizers\":[", content, ErrorCode::kUnsupported,
                      "a part of pre_tokenizer.pretokenizers before the last is ByteLevel, "
                      "expected one that leaves characters as they are");
}

class PairOfFiles : public testing::Test {
 protected:
  void write(const std::string& vocabulary, const std::string& merges, const std::string& config) {
    write_file(scratch_ / "vocab.json", vocabulary);
    write_file(scratch_ / "merges.txt", merges);
    write_file(scratch_ / "tokenizer_config.json", config);
  }
  test::Scratch scratch_;
};

TEST_F(PairOfFiles, RobertaFramesTextsAndPairs) {
  write(R"({"<s>": 0, "<pad>": 1, "</s>": 2, "a": 3, "b": 4, "ab": 5, "<mask>": 6})",
        "#version: 0.2\na b\n", "{}");
  const auto tokenizer = load_tokenizer(scratch_.folder());
  EXPECT_THAT(tokenizer->encode("ab <mask>", true).ids, ElementsAre(0, 5, 6, 2));
  const Encoding pair = tokenizer->encode_pair("a", "b", true);
  EXPECT_THAT(pair.ids, ElementsAre(0, 3, 2, 2, 4, 2));
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(pair.texts, ElementsAre(-1, 0, -1, -1, 1, -1));
}

TEST_F(PairOfFiles, Qwen2CutsEveryDigitAndTakesItsTokensFromTheConfig) {
  write(R"({"1": 0, "2": 1, "12": 2})", "1 2\n",
        R"({"tokenizer_class": "Qwen2Tokenizer",
            "added_tokens_decoder": {"7": {"content": "<|im_start|>", "special": true}}})");
  const auto tokenizer = load_tokenizer(scratch_.folder());
  EXPECT_THAT(tokenizer->encode("12<|im_start|>", true).ids, ElementsAre(0, 1, 7));
  EXPECT_TRUE(tokenizer->is_special(7));
}

TEST_F(PairOfFiles, AMergeOutsideOfTheVocabularyIsNamedWithItsLine) {
  write(R"({"a": 0, "b": 1})", "#version: 0.2\na b\n", "{}");
  EXPECT_HEED_ERROR(load_tokenizer(scratch_.folder()), ErrorCode::kCorrupt,
                    (scratch_ / "merges.txt").string() +
                        ": line 2: a merge is 'a b', expected two pieces that are in the "
                        "vocabulary, as their joint form is");
}

TEST_F(PairOfFiles, ATokenOfTheConfigThatHasAnothersIdIsRefused) {
  write(R"({"a": 0})", "", R"({"added_tokens_decoder": {"0": {"content": "<x>"}}})");
  EXPECT_THROW(load_tokenizer(scratch_.folder()), Error);
}

TEST(WordPieceFile, IsReadAsItsConfigSays) {
  const test::Scratch scratch;
  write_file(scratch / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nCat\ncat\n##s\n");
  const auto plain = load_tokenizer(scratch.folder());
  EXPECT_THAT(plain->encode("Cats", true).ids, ElementsAre(2, 6, 7, 3));
  write_file(scratch / "tokenizer_config.json", R"({"do_lower_case": false})");
  const auto cased = load_tokenizer(scratch.folder());
  EXPECT_THAT(cased->encode("Cats [MASK]", true).ids, ElementsAre(2, 5, 7, 4, 3));
  EXPECT_EQ(cased->token_bytes(7), "s");
  EXPECT_EQ(cased->token_bytes(5), " Cat");
  EXPECT_EQ(cased->piece(7), "##s");
  write_file(scratch / "vocab.txt", "a\nb\n");
  EXPECT_HEED_ERROR(load_tokenizer(scratch / "vocab.txt"), ErrorCode::kCorrupt,
                    (scratch / "vocab.txt").string() +
                        ": the vocabulary is one without [UNK], expected a WordPiece vocabulary, a "
                        "piece per line");
}

TEST(Tiktoken, TheFilesNameTellsHowWordsAreCut) {
  const test::Scratch scratch;
  const std::string ranks = "MQ== 0\nMg== 1\nMTI= 2\n";  // 1, 2, 12
  write_file(scratch / "cl100k_base.tiktoken", ranks);
  const auto tokenizer = load_tokenizer(scratch / "cl100k_base.tiktoken");
  EXPECT_THAT(tokenizer->encode("12121<|endoftext|>", true).ids, ElementsAre(2, 0, 1, 0, 100257));
  write_file(scratch / "mine.tiktoken", ranks);
  EXPECT_HEED_ERROR(load_tokenizer(scratch / "mine.tiktoken"), ErrorCode::kUnsupported,
                    (scratch / "mine.tiktoken").string() +
                        ": the file's name is mine, expected r50k_base, p50k_base, cl100k_base or "
                        "o200k_base, which selects how words are cut");
  write_file(scratch / "r50k_base.tiktoken", "MQ== 0\nMg== 0\n");
  EXPECT_HEED_ERROR(load_tokenizer(scratch / "r50k_base.tiktoken"), ErrorCode::kCorrupt,
                    (scratch / "r50k_base.tiktoken").string() +
                        ": line 2: the line is something else, expected a token in base64, a blank "
                        "and its rank, which rises from line to line");
}

TEST_F(LoadTokenizer, MergesMayBePairs) {
  json content = small();
  content["model"]["merges"] = json::array({{"l", "o"}, {"lo", "w"}});
  EXPECT_EQ(load(content)->encode("low", false).ids.size(), 1U);
}

TEST_F(LoadTokenizer, ATemplateFramesTheText) {
  json content = small();
  content["post_processor"] = json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [0]},
                         "</s>": {"id": "</s>", "ids": [1, 2]}}})");
  const auto tokenizer = load(content);
  const Encoding encoding = tokenizer->encode("low", true);
  EXPECT_THAT(encoding.ids, ElementsAre(0, 258, 1, 2));
  EXPECT_EQ(encoding.spans[3].begin, 3);
  EXPECT_EQ(encoding.spans[3].end, 3);
  EXPECT_THAT(tokenizer->encode("low", false).ids, ElementsAre(258));
  content["post_processor"]["special_tokens"]["<s>"]["ids"] = {999};
  expect_error(content, ErrorCode::kCorrupt,
               "an id of post_processor is 999, expected one below the 259 of the vocabulary");
}

TEST_F(LoadTokenizer, TheLongestAddedTokenWins) {
  json content = small();
  content["added_tokens"].push_back(added("<a>", 259));
  content["added_tokens"].push_back(added("<a>b", 260));
  EXPECT_THAT(load(content)->encode("low<a>b<a>", false).ids, ElementsAre(258, 260, 259));
}

TEST_F(LoadTokenizer, AnAddedTokenIsNoPieceOfTheModel) {
  const auto tokenizer = load(json::parse(R"({
      "added_tokens": [{"id": 2, "content": "cat", "single_word": true},
                       {"id": 3, "content": "the"}],
      "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}})"));
  EXPECT_THAT(tokenizer->encode("cat", false).ids, ElementsAre(2));
  EXPECT_THAT(tokenizer->encode("catthe", false).ids, ElementsAre(0, 3));
}

TEST_F(LoadTokenizer, AnAddedTokenTakesTheSpaceBesideItWhereItSaysSo) {
  json content = small();
  content["added_tokens"].push_back(added("<a>", 259));
  content["added_tokens"][1]["lstrip"] = true;
  content["added_tokens"].push_back(added("<b>", 260));
  content["added_tokens"][2]["rstrip"] = true;
  const Encoding encoding = load(content)->encode("low  <a><b>\n low", false);
  EXPECT_THAT(encoding.ids, ElementsAre(258, 259, 260, 258));
  EXPECT_EQ(encoding.spans[1].begin, 3);
  EXPECT_EQ(encoding.spans[2].end, 13);
}

TEST_F(LoadTokenizer, APrefixedSpaceIsNoByteOfTheText) {
  json content = small();
  content["pre_tokenizer"]["add_prefix_space"] = true;
  const auto tokenizer = load(content);
  const Encoding encoding = tokenizer->encode("low", false);
  ASSERT_EQ(encoding.ids.size(), 2U);
  EXPECT_EQ(tokenizer->token_bytes(encoding.ids[0]), " ");
  EXPECT_EQ(encoding.spans[0].end, 0);
  EXPECT_EQ(encoding.spans[1].begin, 0);
  EXPECT_EQ(encoding.spans[1].end, 3);
  EXPECT_EQ(tokenizer->encode(" low", false).ids, encoding.ids);
  EXPECT_TRUE(tokenizer->encode("", false).ids.empty());
}

TEST_F(LoadTokenizer, AWordOfTheVocabularyIsItselfWhereMergesAreIgnored) {
  json content = small();
  content["model"]["vocab"]["wol"] = 259;
  EXPECT_EQ(load(content)->encode("wol", false).ids.size(), 3U);
  content["model"]["ignore_merges"] = true;
  EXPECT_THAT(load(content)->encode("wol", false).ids, ElementsAre(259));
}

}  // namespace
}  // namespace heed
