#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/text/tokenizer.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "text/byte_bpe.h"

namespace heed {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

class LoadTokenizer : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> load(const Json& json) {
    write_file(path_, json.dump());
    return load_tokenizer(path_);
  }
  void expect_error(const Json& json, ErrorCode code, const std::string& message) {
    EXPECT_HEED_ERROR(load(json), code, path_.string() + ": " + message);
  }
  // The value at fault begins behind `before` in the file.
  void expect_error_behind(const std::string& before, const Json& json, ErrorCode code,
                           const std::string& message) {
    const std::string text = json.dump();
    const std::string line = text.substr(0, text.find(before) + before.size());
    const auto column =
        1 + std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });  // characters
    expect_error(json, code, fmt::format("line 1, column {}: {}", column, message));
  }
  // Byte-level, with merges "l o" and "lo w".
  static Json small() {
    return Json::parse(train_byte_bpe("low low", {.vocabulary_size = 259})->to_json());
  }
  static Json added(const std::string& content, TokenId id) {
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
  expect_error(Json::array(), ErrorCode::kCorrupt,
               "model is not given, expected that of a tokenizer.json, an object");
  Json json = small();
  json["model"]["merges"].push_back("l z");
  expect_error_behind(
      "\"lo w\",", json, ErrorCode::kCorrupt,
      "model.merges[2] is \"l z\", expected two pieces that are in the vocabulary, as "
      "their joint form is");
  json = small();
  json["model"]["vocab"]["zz"] = -3;
  expect_error_behind("\"zz\":", json, ErrorCode::kCorrupt,
                      "the id of \"zz\" is -3, expected a whole number below 16777216");
  json = small();
  json["model"]["vocab"]["zz"] = 258;
  expect_error_behind("\"zz\":", json, ErrorCode::kCorrupt,
                      "the id of \"zz\" is 258, expected another than that of \"low\"");
  json = small();
  json["added_tokens"] = Json::array({3});
  expect_error_behind(
      "\"added_tokens\":[", json, ErrorCode::kCorrupt,
      "an entry of added_tokens is 3, expected an object with a 'content' that is not "
      "empty");
}

TEST_F(LoadTokenizer, AnUnknownKindIsNamedWithWhatIsKnown) {
  Json json = small();
  json["model"]["type"] = "WordPiece";
  json["normalizer"] = {{"type", "BertNormalizer"}};
  expect_error(json, ErrorCode::kUnsupported,
               "the kind of tokenizer is model WordPiece with normalizer BertNormalizer, "
               "pre_tokenizer ByteLevel and decoder ByteLevel, expected one of: byte-level BPE, "
               "characters (BPE without merges)");
}

TEST_F(LoadTokenizer, WhatIsNotHonouredIsRefused) {
  Json json = small();
  json["normalizer"] = {{"type", "NFC"}};
  expect_error_behind("\"normalizer\":", json, ErrorCode::kUnsupported,
                      "normalizer is NFC, expected null");
  json = small();
  json["pre_tokenizer"] = {{"type", "Sequence"}};
  expect_error_behind("\"pre_tokenizer\":", json, ErrorCode::kUnsupported,
                      "pre_tokenizer is Sequence, expected ByteLevel");
  json = small();
  json["post_processor"] = {{"type", "RobertaProcessing"}};
  expect_error_behind("\"post_processor\":", json, ErrorCode::kUnsupported,
                      "post_processor is RobertaProcessing, expected null, ByteLevel, "
                      "TemplateProcessing or a Sequence of them");
  json = small();
  json["model"]["dropout"] = 0.1;
  expect_error_behind("\"dropout\":", json, ErrorCode::kUnsupported,
                      "model.dropout is 0.1, expected 0 or null");
  json = small();
  json["added_tokens"][0]["single_word"] = true;
  expect_error_behind("\"single_word\":", json, ErrorCode::kUnsupported,
                      "single_word of the added token \"<|endoftext|>\" is true, expected false");
}

TEST_F(LoadTokenizer, MergesMayBePairs) {
  Json json = small();
  json["model"]["merges"] = Json::array({{"l", "o"}, {"lo", "w"}});
  EXPECT_EQ(load(json)->encode("low", false).ids.size(), 1U);
}

TEST_F(LoadTokenizer, ATemplateFramesTheText) {
  Json json = small();
  json["post_processor"] = Json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [0]},
                         "</s>": {"id": "</s>", "ids": [1, 2]}}})");
  const auto tokenizer = load(json);
  const Encoding encoding = tokenizer->encode("low", true);
  EXPECT_THAT(encoding.ids, ElementsAre(0, 258, 1, 2));
  EXPECT_EQ(encoding.spans[3].begin, 3);
  EXPECT_EQ(encoding.spans[3].end, 3);
  EXPECT_THAT(tokenizer->encode("low", false).ids, ElementsAre(258));
  json["post_processor"]["special_tokens"]["<s>"]["ids"] = {999};
  expect_error(json, ErrorCode::kCorrupt,
               "an id of post_processor is 999, expected one below the 259 of the vocabulary");
}

TEST_F(LoadTokenizer, TheLongestAddedTokenWins) {
  Json json = small();
  json["added_tokens"].push_back(added("<a>", 259));
  json["added_tokens"].push_back(added("<a>b", 260));
  EXPECT_THAT(load(json)->encode("low<a>b<a>", false).ids, ElementsAre(258, 260, 259));
}

TEST_F(LoadTokenizer, AnAddedTokenTakesTheSpaceBesideItWhereItSaysSo) {
  Json json = small();
  json["added_tokens"].push_back(added("<a>", 259));
  json["added_tokens"][1]["lstrip"] = true;
  json["added_tokens"].push_back(added("<b>", 260));
  json["added_tokens"][2]["rstrip"] = true;
  const Encoding encoding = load(json)->encode("low  <a><b>\n low", false);
  EXPECT_THAT(encoding.ids, ElementsAre(258, 259, 260, 258));
  EXPECT_EQ(encoding.spans[1].begin, 3);
  EXPECT_EQ(encoding.spans[2].end, 13);
}

TEST_F(LoadTokenizer, APrefixedSpaceIsNoByteOfTheText) {
  Json json = small();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  const auto tokenizer = load(json);
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
  Json json = small();
  json["model"]["vocab"]["wol"] = 259;
  EXPECT_EQ(load(json)->encode("wol", false).ids.size(), 3U);
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(load(json)->encode("wol", false).ids, ElementsAre(259));
}

}  // namespace
}  // namespace heed
