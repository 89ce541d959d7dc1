// Every tokenizer of the shared data compared with the ids, offsets and texts of `tokenizers`,
// SentencePiece, tiktoken and ggml.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/file.h"
#include "heed/tokenizer.h"
#include "support/scratch.h"
#include "support/shared_data.h"
#include "text/characters.h"

namespace heed {
namespace {

using nlohmann::json;
using test::whole_characters;
using Ids = std::vector<TokenId>;
using Range = std::pair<std::int64_t, std::int64_t>;

std::filesystem::path shared_folder() { return test::shared_data() / "tokenizers"; }

json cases_of(const std::string& name) {
  return json::parse(read_file(shared_folder() / "cases" / (name + ".json")));
}

void expect_ids_of_ggml(const Tokenizer& tokenizer, const std::string& name) {
  std::istringstream ids(
      read_file(shared_folder() / "cases" / ("ggml-vocab-" + name + ".gguf.out")));
  const std::string texts =
      read_file(shared_folder() / "cases" / ("ggml-vocab-" + name + ".gguf.inp"));
  const std::string separator = "\n__ggml_vocab_test__\n";
  int count = 0;
  for (std::size_t begin = 0; begin < texts.size(); ++count) {
    const std::size_t end = texts.find(separator, begin);
    const std::string text = texts.substr(begin, end - begin);
    std::string line;
    std::getline(ids, line);
    std::istringstream numbers(line);
    const Ids expected(std::istream_iterator<TokenId>(numbers), {});
    EXPECT_EQ(tokenizer.encode(text, false).ids, expected) << text;
    begin = end == std::string::npos ? end : end + separator.size();
  }
  EXPECT_EQ(count, 46);
}

// U+FFFD in place of bytes that are not UTF-8, as `tokenizers` decodes them.
void expect_cases_of_tokenizers(const Tokenizer& tokenizer, const json& file) {
  for (const json& entry : file["cases"]) {
    const auto text = entry["text"].get<std::string>();
    const Encoding encoding = tokenizer.encode(text, false);
    ASSERT_EQ(encoding.ids, entry["ids"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer.decode(encoding.ids, false), entry["decoded"].get<std::string>()) << text;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i)
      EXPECT_EQ(whole_characters(text, encoding.spans[i]), entry["offsets"][i].get<Range>())
          << text << ", token " << i;
    if (entry.contains("ids_with_special")) {
      EXPECT_EQ(tokenizer.encode(text, true).ids, entry["ids_with_special"].get<Ids>()) << text;
    }
  }
  EXPECT_EQ(file["cases"].size(), 237U);
}

int expect_ids_of_tiktoken(const Tokenizer& tokenizer, const std::string& wanted) {
  std::istringstream plans(read_file(shared_folder() / "tiktoken/TestPlans.txt"));
  std::string name;
  std::string sample;
  int count = 0;
  for (std::string line; std::getline(plans, line);) {
    if (line.starts_with("EncodingName: ")) {
      name = line.substr(14);
    } else if (line.starts_with("Sample: ")) {
      sample = line.substr(8);
    } else if (line.starts_with("Encoded: [") && name == wanted) {
      EXPECT_EQ(tokenizer.encode(sample, false).ids, json::parse(line.substr(9)).get<Ids>())
          << sample;
      ++count;
    } else if (!line.starts_with("Encoded: [")) {
      sample += "\n" + line;  // a sample may span lines
    }
  }
  return count;
}

class Gpt2 : public testing::Test {
 protected:
  void SetUp() override {
    HEED_NEEDS_SHARED("tokenizers");
    static const std::shared_ptr<Tokenizer> loaded = load_tokenizer(shared_folder() / "gpt2");
    tokenizer_ = loaded;
  }
  std::shared_ptr<Tokenizer> tokenizer_;
};

TEST_F(Gpt2, GivesThePublishedIdsOfGgml) { expect_ids_of_ggml(*tokenizer_, "gpt-2"); }

TEST_F(Gpt2, GivesTheIdsOffsetsAndTextsOfTokenizers) {
  expect_cases_of_tokenizers(*tokenizer_, cases_of("hf-gpt2"));
}

TEST_F(Gpt2, GivesTheIdsOfTiktoken) {
  EXPECT_EQ(expect_ids_of_tiktoken(*tokenizer_, "r50k_base"), 67);
}

TEST_F(Gpt2, TheOlderPairOfFilesGivesTheSame) {
  const test::Scratch scratch;
  std::filesystem::create_symlink(std::filesystem::absolute(shared_folder() / "gpt2/encoder.json"),
                                  scratch / "vocab.json");
  std::filesystem::create_symlink(std::filesystem::absolute(shared_folder() / "gpt2/vocab.bpe"),
                                  scratch / "merges.txt");
  const auto pair = load_tokenizer(scratch.folder());
  expect_cases_of_tokenizers(*pair, cases_of("hf-gpt2"));
  EXPECT_EQ(pair->vocabulary_size(), 50257);
  EXPECT_TRUE(pair->is_special(50256));
}

TEST_F(Gpt2, KnowsItsSpecialTokenAndItsPieces) {
  EXPECT_EQ(tokenizer_->vocabulary_size(), 50257);
  EXPECT_EQ(tokenizer_->find("<|endoftext|>"), 50256);
  EXPECT_EQ(tokenizer_->find("no such piece"), -1);
  EXPECT_EQ(tokenizer_->token_bytes(tokenizer_->find("Ġcat")), " cat");
  EXPECT_EQ(tokenizer_->piece(tokenizer_->find("Ġcat")), "Ġcat");
  EXPECT_EQ(tokenizer_->token_bytes(50256), "<|endoftext|>");
}

TEST_F(Gpt2, AWordOfAMegabyteIsNoTrouble) {
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text, false).ids, false), text);
}

TEST(Tiktoken, ItsOwnFilesGiveItsIds) {
  HEED_NEEDS_SHARED("tokenizers");
  const auto r50k = load_tokenizer(shared_folder() / "tiktoken/r50k_base.tiktoken");
  EXPECT_EQ(expect_ids_of_tiktoken(*r50k, "r50k_base"), 67);
  const auto cl100k = load_tokenizer(shared_folder() / "tiktoken/cl100k_base.tiktoken");
  EXPECT_EQ(expect_ids_of_tiktoken(*cl100k, "cl100k_base"), 75);
}

class Bert : public testing::Test {
 protected:
  void SetUp() override {
    HEED_NEEDS_SHARED("tokenizers");
    static const std::shared_ptr<Tokenizer> loaded =
        load_tokenizer(shared_folder() / "bert/tokenizer.json");
    tokenizer_ = loaded;
  }
  std::shared_ptr<Tokenizer> tokenizer_;
};

TEST_F(Bert, GivesThePublishedIdsOfGgml) { expect_ids_of_ggml(*tokenizer_, "bert-bge"); }

TEST_F(Bert, GivesTheIdsOffsetsAndTextsOfTokenizers) {
  expect_cases_of_tokenizers(*tokenizer_, cases_of("hf-bert"));
}

TEST_F(Bert, PairsHaveTypesAndOffsetsInTheirOwnText) {
  const json file = cases_of("hf-bert");
  for (const json& entry : file["pairs"]) {
    const auto first = entry["a"].get<std::string>();
    const auto second = entry["b"].get<std::string>();
    const Encoding encoding = tokenizer_->encode_pair(first, second, true);
    ASSERT_EQ(encoding.ids, entry["ids"].get<Ids>()) << first << " | " << second;
    EXPECT_EQ(encoding.types, entry["type_ids"].get<std::vector<std::int32_t>>());
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      const bool put_in = entry["special_tokens_mask"][i] == 1;
      EXPECT_EQ(encoding.texts[i] < 0, put_in) << i;
      if (put_in) continue;
      EXPECT_EQ(whole_characters(encoding.texts[i] == 0 ? first : second, encoding.spans[i]),
                entry["offsets"][i].get<Range>());
    }
  }
  EXPECT_EQ(file["pairs"].size(), 4U);
}

TEST_F(Bert, ItsVocabularyFileGivesTheIdsAndPiecesOfSquad) {
  const test::Scratch scratch;
  std::filesystem::create_symlink(
      std::filesystem::absolute(shared_folder() / "bert/bert-base-uncased-vocab.txt"),
      scratch / "vocab.txt");
  const auto tokenizer = load_tokenizer(scratch.folder());
  const json tokens = json::parse(read_file(shared_folder() / "bert/squad_question_tokens.json"));
  const json ids = json::parse(read_file(shared_folder() / "bert/squad_question_ids.json"));
  int equal = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Encoding encoding =
        tokenizer->encode(tokens[i]["original"].get<std::string>(), /*add_special=*/false);
    std::vector<std::string> pieces;
    for (const TokenId id : encoding.ids) pieces.push_back(tokenizer->piece(id));
    const bool same = encoding.ids == ids[i].get<Ids>() &&
                      pieces == tokens[i]["wordpiece"].get<std::vector<std::string>>();
    EXPECT_TRUE(same) << tokens[i]["original"];
    equal += same ? 1 : 0;
  }
  EXPECT_EQ(equal, 10570);
  EXPECT_EQ(tokenizer->encode("time", true).ids, (Ids{101, 2051, 102}));
}

TEST(Llama2, GivesTheIdsOffsetsAndTextsOfTokenizersAndGgml) {
  HEED_NEEDS_SHARED("tokenizers");
  const auto tokenizer = load_tokenizer(shared_folder() / "llama2");
  expect_cases_of_tokenizers(*tokenizer, cases_of("hf-llama2"));
  expect_ids_of_ggml(*tokenizer, "llama-spm");
  expect_ids_of_ggml(*tokenizer, "phi-3");
}

TEST(Llama2, AWordOfAMegabyteIsNoTrouble) {
  HEED_NEEDS_SHARED("tokenizers");
  const auto tokenizer = load_tokenizer(shared_folder() / "llama2");
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, false).ids, false), text);
}

// Of a character that becomes several, as U+FB01 does, SentencePiece gives the whole to the last
// piece and nothing to those before it; heed gives it to each.
void expect_offsets_of_sentence_piece(const json& entry, const Encoding& encoding) {
  const std::size_t count = encoding.spans.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto [begin, end] = entry["offsets"][i].get<Range>();
    EXPECT_EQ(encoding.spans[i].begin, begin) << entry["text"] << ", token " << i;
    const std::int64_t next = i + 1 < count ? encoding.spans[i + 1].begin : end;
    const bool shares = next < encoding.spans[i].end;
    EXPECT_EQ(shares ? next : encoding.spans[i].end, end) << entry["text"] << ", token " << i;
  }
}

TEST(SentencePieceCases, AUnigramModelGivesItsIdsPiecesOffsetsAndTexts) {
  HEED_NEEDS_SHARED("tokenizers");
  const auto tokenizer = load_tokenizer(shared_folder() / "sentencepiece/test_model.model");
  const json file = cases_of("spm-test_model");
  for (const json& entry : file["cases"]) {
    const auto text = entry["text"].get<std::string>();
    const Encoding encoding = tokenizer->encode(text, false);
    ASSERT_EQ(encoding.ids, entry["ids"].get<Ids>()) << text;
    expect_offsets_of_sentence_piece(entry, encoding);
    EXPECT_EQ(tokenizer->decode(encoding.ids, false), entry["decoded"].get<std::string>()) << text;
  }
  EXPECT_EQ(file["cases"].size(), 237U);
}

TEST(WordLevel, SourceAndTargetHaveTokenizersOfTheirOwn) {
  HEED_NEEDS_SHARED("models/aren-transliteration");
  const auto folder_of_model = test::shared_data() / "models/aren-transliteration";
  const auto source = load_tokenizer(folder_of_model);
  const auto target = load_target_tokenizer(folder_of_model);
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(source->decode(source->encode("آ ت ز م و ن", true).ids, true), "آ ت ز م و ن");
  EXPECT_EQ(source->encode("آ ?", true).ids.back(), 50);
  EXPECT_EQ(target->find("<s>"), 52);
  EXPECT_EQ(target->decode(target->encode("a t z", true).ids, true), "a t z");
  EXPECT_EQ(load_target_tokenizer(shared_folder() / "llama2"), nullptr);
}

}  // namespace
}  // namespace heed
