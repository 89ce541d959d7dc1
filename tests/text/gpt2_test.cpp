// GPT-2's own tokenizer against published ids.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "heed/text/tokenizer.h"
#include "io/atomic_file.h"
#include "support/scratch.h"
#include "support/shared_data.h"

namespace heed {
namespace {

using Ids = std::vector<TokenId>;

class Gpt2 : public testing::Test {
 protected:
  void SetUp() override {
    HEED_NEEDS_SHARED("tokenizers");
    static const std::shared_ptr<Tokenizer> loaded = load_tokenizer(folder_ / "gpt2");
    tokenizer_ = loaded;
  }
  std::filesystem::path folder_ = test::shared_data() / "tokenizers";
  std::shared_ptr<Tokenizer> tokenizer_;
};

Ids parse_ids(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<TokenId>(stream), {}};
}

// The span, widened to whole characters.
std::pair<std::int64_t, std::int64_t> whole_characters(const std::string& text, TokenSpan span) {
  const auto inside = [&](std::int64_t i) {
    return i < static_cast<std::int64_t>(text.size()) &&
           (static_cast<unsigned char>(text[static_cast<std::size_t>(i)]) & 0xC0) == 0x80;
  };
  while (inside(span.begin)) --span.begin;
  while (inside(span.end)) ++span.end;
  return {span.begin, span.end};
}

TEST_F(Gpt2, GivesThePublishedIdsOfGgml) {
  std::istringstream ids(read_file(folder_ / "cases/ggml-vocab-gpt-2.gguf.out"));
  const std::string texts = read_file(folder_ / "cases/ggml-vocab-gpt-2.gguf.inp");
  const std::string separator = "\n__ggml_vocab_test__\n";
  int count = 0;
  for (std::size_t begin = 0; begin < texts.size(); ++count) {
    const std::size_t end = texts.find(separator, begin);
    std::string line;
    std::getline(ids, line);
    EXPECT_EQ(tokenizer_->encode(texts.substr(begin, end - begin), false).ids, parse_ids(line));
    begin = end == std::string::npos ? end : end + separator.size();
  }
  EXPECT_EQ(count, 46);
}

TEST_F(Gpt2, GivesTheIdsOffsetsAndTextsOfTokenizers) {
  const auto file = nlohmann::json::parse(read_file(folder_ / "cases/hf-gpt2.json"));
  for (const auto& entry : file["cases"]) {
    const auto text = entry["text"].get<std::string>();
    const Encoding encoding = tokenizer_->encode(text, false);
    ASSERT_EQ(encoding.ids, entry["ids"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer_->decode(encoding.ids, false), entry["decoded"].get<std::string>());
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      const std::pair<std::int64_t, std::int64_t> expected = entry["offsets"][i];
      EXPECT_EQ(whole_characters(text, encoding.spans[i]), expected) << text << ", token " << i;
    }
  }
  EXPECT_EQ(file["cases"].size(), 237U);
}

TEST_F(Gpt2, GivesTheIdsOfTiktoken) {
  std::istringstream plans(read_file(folder_ / "tiktoken/TestPlans.txt"));
  std::string name;
  std::string sample;
  int count = 0;
  for (std::string line; std::getline(plans, line);) {
    if (line.starts_with("EncodingName: ")) {
      name = line.substr(14);
    } else if (line.starts_with("Sample: ")) {
      sample = line.substr(8);
    } else if (line.starts_with("Encoded: [") && name == "r50k_base") {
      const nlohmann::json ids = nlohmann::json::parse(line.substr(9));
      EXPECT_EQ(tokenizer_->encode(sample, false).ids, ids.get<Ids>()) << sample;
      ++count;
    } else if (!line.starts_with("Encoded: [")) {
      sample += "\n" + line;  // a sample may span lines
    }
  }
  EXPECT_EQ(count, 67);
}

TEST_F(Gpt2, TheOlderPairOfFilesGivesTheSameIds) {
  const test::Scratch scratch;
  std::filesystem::create_symlink(std::filesystem::absolute(folder_ / "gpt2/encoder.json"),
                                  scratch / "vocab.json");
  std::filesystem::create_symlink(std::filesystem::absolute(folder_ / "gpt2/vocab.bpe"),
                                  scratch / "merges.txt");
  const auto pair = load_tokenizer(scratch.folder());
  const auto file = nlohmann::json::parse(read_file(folder_ / "cases/hf-gpt2.json"));
  for (const auto& entry : file["cases"])
    EXPECT_EQ(pair->encode(entry["text"].get<std::string>(), false).ids, entry["ids"].get<Ids>());
  EXPECT_EQ(pair->vocabulary_size(), 50257);
  EXPECT_TRUE(pair->is_special(50256));
}

TEST_F(Gpt2, KnowsItsSpecialTokenAndItsPieces) {
  EXPECT_EQ(tokenizer_->vocabulary_size(), 50257);
  EXPECT_EQ(tokenizer_->find("<|endoftext|>"), 50256);
  EXPECT_EQ(tokenizer_->find("no such piece"), -1);
  EXPECT_EQ(tokenizer_->token_bytes(tokenizer_->find("Ġcat")), " cat");
  EXPECT_EQ(tokenizer_->token_bytes(50256), "<|endoftext|>");
}

TEST_F(Gpt2, AWordOfAHundredThousandCharactersIsNoTrouble) {
  const std::string text(100000, 'a');
  EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text, false).ids, false), text);
}

}  // namespace
}  // namespace heed
