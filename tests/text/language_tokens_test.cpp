// Tokenizers of NLLB and mBART, whose frame is the language of the text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heed/tokenizer.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace heed {
namespace {

using testing::ElementsAre;

constexpr const char* kTokenizer = R"({
    "added_tokens": [{"id": 3, "content": "</s>", "special": true},
                     {"id": 4, "content": "en_XX", "special": true},
                     {"id": 5, "content": "eng_Latn", "special": true},
                     {"id": 6, "content": "fra_Latn", "special": true}],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}}})";

class LanguageTokens : public testing::Test {
 protected:
  LanguageTokens() { write_file(scratch_ / "tokenizer.json", kTokenizer); }

  std::unique_ptr<Tokenizer> loaded(const std::string& config) {
    write_file(scratch_ / "tokenizer_config.json", config);
    return load_tokenizer(scratch_.folder());
  }
  std::vector<TokenId> ids(const std::string& config) {
    return loaded(config)->encode("a b", true).ids;
  }

  test::Scratch scratch_;
};

// The result of AutoTokenizer in transformers 5.23 for such a folder.
TEST_F(LanguageTokens, StandWhereTheirClassPutsThem) {
  EXPECT_THAT(ids(R"({"tokenizer_class": "NllbTokenizer"})"), ElementsAre(5, 1, 2, 3));
  EXPECT_THAT(ids(R"({"tokenizer_class": "MBartTokenizerFast"})"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ids(R"({"tokenizer_class": "MBart50Tokenizer"})"), ElementsAre(4, 1, 2, 3));
  EXPECT_THAT(ids(R"({"tokenizer_class": "PreTrainedTokenizerFast"})"), ElementsAre(1, 2));
}

TEST_F(LanguageTokens, AreOfTheLanguageThatTheConfigurationNames) {
  const std::string french = R"({"tokenizer_class": "NllbTokenizer", "src_lang": "fra_Latn")";
  EXPECT_THAT(ids(french + "}"), ElementsAre(6, 1, 2, 3));
  EXPECT_THAT(ids(french + R"(, "legacy_behaviour": true})"), ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(loaded(french + "}")->encode_pair("a", "b", true).ids, ElementsAre(6, 1, 2, 3));
  EXPECT_HEED_ERROR(ids(R"({"tokenizer_class": "NllbTokenizer", "src_lang": "deu_Latn"})"),
                    ErrorCode::kCorrupt,
                    (scratch_ / "tokenizer_config.json").string() +
                        ": src_lang is 'deu_Latn', expected an added token of tokenizer.json");
}

TEST_F(LanguageTokens, ARefusedFileIsNamedWhereItsPiecesAreNotAll) {
  std::filesystem::remove(scratch_ / "tokenizer.json");
  write_file(scratch_ / "sentencepiece.bpe.model", "any");
  write_file(scratch_ / "config.json", R"({"model_type": "m2m_100"})");
  EXPECT_HEED_ERROR(load_tokenizer(scratch_.folder()), ErrorCode::kUnsupported,
                    (scratch_ / "sentencepiece.bpe.model").string() +
                        ": is that of m2m_100, expected a tokenizer.json: this file does not hold "
                        "its ids and special tokens");
}

}  // namespace
}  // namespace heed
