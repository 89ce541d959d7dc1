// Malicious tokenizer files and inputs: one line of error, no crash, bounded memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/philox.h"
#include "heed/tokenizer.h"
#include "support/expect_error.h"
#include "support/places.h"
#include "support/scratch.h"
#include "text/pipeline/sentence_piece_parts.h"
#include "text/pipeline_tokenizer.h"

namespace heed {
namespace {

using nlohmann::json;

std::filesystem::path tokenizers() {
  return std::filesystem::path(HEED_SOURCE_DIR) / "tests" / "text" / "tokenizers";
}

class HostileTokenizer : public testing::Test {
 protected:
  // The error for the file; empty if it loads and encodes.
  std::string outcome(const std::string& content) {
    try {
      read_tokenizer(TokenizerFile(path_.string(), content))
          ->encode_pair("the cat's <s> 日本 \xF0\x9F\xA6\x89", "a", true);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  test::Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "tokenizer.json";
};

TEST_F(HostileTokenizer, AFileThatIsCutAnywhereIsRefused) {
  for (const char* name : {"bert", "llama2", "unigram", "words"}) {
    const std::string content = read_file(tokenizers() / (std::string(name) + ".json"));
    for (std::size_t size = 0; size + 2 < content.size(); size += 1 + size / 30) {
      const std::string error = outcome(content.substr(0, size));
      ASSERT_TRUE(error.starts_with(path_.string() + ": line 1, column ")) << size << error;
    }
  }
}

// `count` steps, each of which makes sixteen letters of one.
json growing(const char* list, int count) {
  json parts = json::array();
  for (int i = 0; i < count; ++i)
    parts.push_back(
        {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(16, 'a')}});
  return {{"type", "Sequence"}, {list, parts}};
}

TEST_F(HostileTokenizer, ANormalizerThatGrowsATextIsStopped) {
  json file = json::parse(read_file(tokenizers() / "bert.json"));
  for (const json& normalizer :
       {growing("normalizers", 12),
        json{{"type", "Sequence"},
             {"normalizers", {growing("normalizers", 6), growing("normalizers", 6)}}},
        json{{"type", "Replace"},
             {"pattern", {{"String", "a"}}},
             {"content", std::string(1 << 21, 'a')}},
        json{{"type", "Prepend"}, {"prepend", std::string(1 << 21, 'a')}}}) {
    file["normalizer"] = normalizer;
    EXPECT_EQ(outcome(file.dump()),
              "tokenizer: the changed text is more than 1050176 bytes for a text of 25 bytes, "
              "expected at most 64 times the text and a megabyte")
        << normalizer.dump().substr(0, 200);
  }
  file["normalizer"] = growing("normalizers", 4);
  EXPECT_EQ(outcome(file.dump()), "");
}

TEST_F(HostileTokenizer, AnAddedTokenThatGrowsIsStopped) {
  json file = json::parse(read_file(tokenizers() / "bert.json"));
  file["normalizer"] = growing("normalizers", 12);
  file["added_tokens"].push_back({{"id", 99999}, {"content", "aa"}, {"normalized", true}});
  EXPECT_THAT(outcome(file.dump()), testing::HasSubstr("the changed text is more than"));
}

TEST_F(HostileTokenizer, ADecoderThatGrowsATextIsRefused) {
  json file = json::parse(read_file(tokenizers() / "bert.json"));
  file["decoder"] = growing("decoders", 2);
  EXPECT_THAT(outcome(file.dump()),
              testing::EndsWith(
                  "decoder is Sequence, expected one that makes a text at most 64 times longer"));
  file["decoder"] = growing("decoders", 1);
  EXPECT_EQ(outcome(file.dump()), "");
}

TEST_F(HostileTokenizer, AMemberThatIsSomethingElseIsRefusedOrHasNoEffect) {
  const json values[] = {nullptr,
                         true,
                         -1,
                         1e300,
                         "",
                         "x",
                         json::array(),
                         json::array({1}),
                         json::object(),
                         json{{"type", "x"}}};
  for (const char* name : {"bert", "unigram", "words", "bytes-gpt2"}) {
    const json content = json::parse(read_file(tokenizers() / (std::string(name) + ".json")));
    const json flat = content.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      if (pointer.size() > 16 && pointer.starts_with("/model/")) continue;  // many alike
      for (const json& other : values) {
        json changed = content;
        changed[json::json_pointer(pointer)] = other;
        const std::string error = outcome(changed.dump());
        ASSERT_EQ(error.find('\n'), std::string::npos) << pointer << other << error;
      }
    }
  }
}

TEST_F(HostileTokenizer, MergesOutsideOfTheVocabularyAreNamed) {
  json content = json::parse(read_file(tokenizers() / "bytes-gpt2.json"));
  content["model"]["merges"] = {"t h", "a"};
  EXPECT_NE(outcome(content.dump())
                .find("model.merges[1] is \"a\", expected two pieces that are in "
                      "the vocabulary, as their joint form is"),
            std::string::npos);
  content["model"]["merges"] = {"q q"};
  EXPECT_NE(outcome(content.dump()).find("model.merges[0] is \"q q\""), std::string::npos);
}

TEST_F(HostileTokenizer, AHugeIdTakesNoMemory) {
  EXPECT_NE(
      outcome(R"({"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 2097152}}})")
          .find("the id of \"a\" is 2097152, expected a whole number below 2097152"),
      std::string::npos);
}

TEST_F(HostileTokenizer, DeepNestingIsRefused) {
  std::string normalizer = R"({"type": "NFC"})";
  for (int i = 0; i < 1000; ++i)
    normalizer = R"({"type": "Sequence", "normalizers": [)" + normalizer + "]}";
  const std::string error = outcome(R"({"model": {"type": "WordLevel", "vocab": {"a": 0}},
                                        "normalizer": )" +
                                    normalizer + "}");
  EXPECT_TRUE(error.starts_with(path_.string() + ": line 2, column ")) << error;
}

TEST_F(HostileTokenizer, LoneSurrogatesOfJsonAreRefused) {
  EXPECT_TRUE(outcome(R"({"model": {"type": "WordLevel", "vocab": {"\ud800": 0}}})")
                  .starts_with(path_.string() + ": line 1, column "));
}

TEST_F(HostileTokenizer, TextThatIsNoUtf8IsRefusedWithItsByte) {
  for (const auto& entry : std::filesystem::directory_iterator(tokenizers())) {
    const auto tokenizer = load_tokenizer(entry.path());
    EXPECT_HEED_ERROR(tokenizer->encode("ab\xED\xA0\x80", false), ErrorCode::kInvalidArgument,
                      "text: byte 2 is 0xED, which is not valid UTF-8 there");
    EXPECT_HEED_ERROR(tokenizer->encode_pair("a", "\xFF", false), ErrorCode::kInvalidArgument,
                      "text: byte 0 is 0xFF, which is not valid UTF-8 there");
  }
}

TEST_F(HostileTokenizer, IdsOutsideTheVocabularyAreRefused) {
  for (const auto& entry : std::filesystem::directory_iterator(tokenizers())) {
    const auto tokenizer = load_tokenizer(entry.path());
    for (const TokenId id :
         {TokenId{-1}, TokenId{1 << 30}, static_cast<TokenId>(tokenizer->vocabulary_size())}) {
      EXPECT_THROW(tokenizer->decode(std::vector<TokenId>{id}, false), Error);
      EXPECT_THROW(tokenizer->token_bytes(id), Error);
      EXPECT_THROW(tokenizer->piece(id), Error);
      EXPECT_THROW(tokenizer->is_special(id), Error);
    }
  }
}

TEST_F(HostileTokenizer, ALongRunOfOneCharacterTakesNoQuadraticTime) {
  const std::string run(1 << 20, 'a');
  for (const char* name : {"bytes-gpt2", "llama2", "unigram", "bert"}) {
    const auto tokenizer = load_tokenizer(tokenizers() / (std::string(name) + ".json"));
    EXPECT_FALSE(tokenizer->encode(run, false).ids.empty()) << name;
  }
}

// A table with arbitrary offsets: look-ups stay inside.
TEST(HostileCharsmap, RandomTablesAreReadWithinTheirBounds) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string blob = {16, 0, 0, 0};
    for (int i = 0; i < 20; ++i) blob += static_cast<char>(random.below(256));
    const auto map = Charsmap::parse(blob);
    if (!map) {
      ADD_FAILURE() << "the sizes fit";
      continue;
    }
    for (const char* text : {"a", "\x01\x02", "\xFF\xFF\xFF"}) {
      const auto match = map->longest(text);
      if (match) {
        EXPECT_LE(match->bytes, std::string_view(text).size());
      }
    }
  }
  EXPECT_FALSE(Charsmap::parse(""));
  EXPECT_FALSE(Charsmap::parse(std::string("\xFF\xFF\xFF\x7F", 4)));
  EXPECT_FALSE(Charsmap::parse(std::string("\x03\0\0\0abc", 7)));
}

}  // namespace
}  // namespace heed
