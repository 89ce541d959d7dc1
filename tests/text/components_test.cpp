// Small tokenizers of every kind, tests/text/tokenizers, compared with `tokenizers`:
// tools/make_tokenizer_cases.py wrote cases.json, rules.json and settings.json.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/tokenizer.h"
#include "io/atomic_file.h"
#include "support/places.h"
#include "support/scratch.h"
#include "text/characters.h"
#include "text/pipeline_tokenizer.h"

namespace heed {
namespace {

using nlohmann::json;
using test::whole_characters;
using Ids = std::vector<TokenId>;

std::filesystem::path own_folder() {
  return std::filesystem::path(HEED_SOURCE_DIR) / "tests" / "text";
}

const json& all_cases() {
  static const json cases = json::parse(read_file(own_folder() / "cases.json"));
  return cases;
}

// Invalid UTF-8 bytes are restored unchanged; `tokenizers` gives U+FFFD for them.
bool is_whole(const std::string& text) { return find_invalid_utf8(text) < 0; }

class Components : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Tokenizer> tokenizer_ =
      load_tokenizer(own_folder() / "tokenizers" / (std::string(GetParam()) + ".json"));
  const json& cases_ = all_cases()[GetParam()];
};

TEST_P(Components, GiveTheIdsOffsetsAndTextsOfTokenizers) {
  ASSERT_EQ(cases_["cases"].size(), 20U);
  for (const json& entry : cases_["cases"]) {
    const auto text = entry["text"].get<std::string>();
    const Encoding encoding = tokenizer_->encode(text, false);
    EXPECT_EQ(encoding.ids, entry["ids"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer_->encode(text, true).ids, entry["with_special"].get<Ids>()) << text;
    const std::string decoded = tokenizer_->decode(encoding.ids, false);
    if (is_whole(decoded)) {
      EXPECT_EQ(decoded, entry["decoded"].get<std::string>()) << text;
    }
    if (!entry.contains("offsets")) continue;
    ASSERT_EQ(encoding.spans.size(), entry["offsets"].size()) << text;
    for (std::size_t i = 0; i < encoding.spans.size(); ++i)
      EXPECT_EQ(whole_characters(text, encoding.spans[i]),
                (entry["offsets"][i].get<std::pair<std::int64_t, std::int64_t>>()))
          << text << ", token " << i;
  }
}

TEST_P(Components, FrameTwoTextsAsTokenizersDoes) {
  const Encoding pair = tokenizer_->encode_pair("the cat", "a the", true);
  EXPECT_EQ(pair.ids, cases_["pair"]["ids"].get<Ids>());
  EXPECT_EQ(pair.types, cases_["pair"]["types"].get<std::vector<std::int32_t>>());
}

TEST_P(Components, TheirJsonGivesTheSameTokens) {
  const std::string copy = tokenizer_->to_json();
  EXPECT_EQ(json::parse(copy), json::parse(read_file(own_folder() / "tokenizers" /
                                                     (std::string(GetParam()) + ".json"))));
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, Components,
                         testing::Values("albert", "bert", "bytes-gpt2", "bytes-gpt4o",
                                         "bytes-llama3", "bytes-qwen2", "llama2", "unigram",
                                         "words"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

// Each with one rule at its limits, compared with `tokenizers`: missing pieces, spaces of added
// tokens, byte tokens, regular expressions.
TEST(TokenizerRules, GiveTheIdsOfTokenizers) {
  const json all = json::parse(read_file(own_folder() / "rules.json"));
  for (const json& rule : all) {
    SCOPED_TRACE(rule["name"].get<std::string>());
    const auto tokenizer = read_tokenizer(TokenizerFile("rules.json", rule["tokenizer"].dump()));
    for (const json& entry : rule["cases"]) {
      const auto text = entry["text"].get<std::string>();
      const Encoding encoding = tokenizer->encode(text, false);
      EXPECT_EQ(encoding.ids, entry["ids"].get<Ids>()) << text;
      if (!entry.contains("ends")) continue;
      std::vector<std::int64_t> ends;
      for (const TokenSpan& span : encoding.spans) ends.push_back(span.end);
      EXPECT_EQ(ends, entry["ends"].get<std::vector<std::int64_t>>()) << text;
    }
  }
}

// A tokenizer_config.json that contradicts the tokenizer.json beside it, read like in transformers.
TEST(TokenizerSettings, GiveTheIdsOfTransformers) {
  const test::Scratch scratch;
  for (const json& setting : json::parse(read_file(own_folder() / "settings.json"))) {
    SCOPED_TRACE(setting["config"].dump());
    const std::string name = setting["tokenizer"].get<std::string>() + ".json";
    write_file(scratch / "tokenizer.json", read_file(own_folder() / "tokenizers" / name));
    write_file(scratch / "tokenizer_config.json", setting["config"].dump());
    const auto tokenizer = load_tokenizer(scratch.folder());
    for (const json& entry : setting["cases"]) {
      const auto text = entry["text"].get<std::string>();
      EXPECT_EQ(tokenizer->encode(text, true).ids, entry["ids"].get<Ids>()) << text;
    }
    // What heed writes holds the settings.
    write_file(scratch / "written.json", tokenizer->to_json());
    const auto written = load_tokenizer(scratch / "written.json");
    for (const json& entry : setting["cases"])
      EXPECT_EQ(written->encode(entry["text"].get<std::string>(), true).ids,
                entry["ids"].get<Ids>());
  }
}

}  // namespace
}  // namespace heed
