// vocab.json and merges.txt, with the settings of tokenizer_config.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heed/tokenizer.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace heed {
namespace {

using testing::ElementsAre;

// The result of AutoTokenizer in transformers 5.23 for such a folder.
TEST(Gpt2Files, PutBeginAndEndWhereTheConfigurationAsks) {
  const test::Scratch scratch;
  write_file(scratch / "vocab.json",
             R"({"<|endoftext|>": 0, "a": 1, "b": 2, "c": 3, "j": 4, "Ġ": 5, "ab": 6})");
  write_file(scratch / "merges.txt", "#version: 0.2\na b\n");
  const auto ids = [&](const std::string& config, bool pair) {
    write_file(scratch / "tokenizer_config.json", config);
    const auto tokenizer = load_tokenizer(scratch.folder());
    return (pair ? tokenizer->encode_pair("ab", "c", true) : tokenizer->encode("ab c", true)).ids;
  };
  EXPECT_THAT(ids(R"({"tokenizer_class": "GPT2Tokenizer"})", false), ElementsAre(6, 5, 3));
  EXPECT_THAT(ids(R"({"add_bos_token": false})", false), ElementsAre(6, 5, 3));
  for (const char* config : {R"({"add_bos_token": true})",
                             R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true,
                                 "bos_token": "<|endoftext|>"})"}) {
    EXPECT_THAT(ids(config, false), ElementsAre(0, 6, 5, 3));
    EXPECT_THAT(ids(config, true), ElementsAre(0, 6, 0, 3));
  }
  EXPECT_THAT(ids(R"({"add_bos_token": true, "bos_token": "j"})", false), ElementsAre(4, 6, 5, 3));
  EXPECT_THAT(ids(R"({"add_eos_token": true})", false), ElementsAre(6, 5, 3, 0));
  EXPECT_THAT(ids(R"({"add_eos_token": true})", true), ElementsAre(6, 0, 3, 0));
  EXPECT_THAT(ids(R"({"add_bos_token": true, "add_eos_token": true})", false),
              ElementsAre(0, 6, 5, 3, 0));
}

// Like transformers: special, and searched before the normaliser, where another file names it.
TEST(Gpt2Files, ReadAddedTokensJson) {
  const test::Scratch scratch;
  write_file(scratch / "vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  write_file(scratch / "merges.txt", "a b\n");
  write_file(scratch / "added_tokens.json", R"({"<|x|>": 3, "<|y|>": 5})");
  write_file(scratch / "special_tokens_map.json",
             R"({"pad_token": {"content": "<|y|>", "lstrip": false}})");
  const auto tokenizer = load_tokenizer(scratch.folder());
  EXPECT_THAT(tokenizer->encode("a<|x|>b<|y|>ab", true).ids, ElementsAre(0, 3, 1, 5, 2));
  EXPECT_FALSE(tokenizer->is_special(3));
  EXPECT_TRUE(tokenizer->is_special(5));
  write_file(scratch / "tokenizer_config.json",
             R"({"added_tokens_decoder": {"4": {"content": "<|z|>", "special": true}}})");
  EXPECT_EQ(load_tokenizer(scratch.folder())->find("<|x|>"), -1);
  write_file(scratch / "tokenizer_config.json", "{}");
  write_file(scratch / "added_tokens.json", R"({"<|x|>": "three"})");
  EXPECT_HEED_ERROR(load_tokenizer(scratch.folder()), ErrorCode::kCorrupt,
                    (scratch / "added_tokens.json").string() +
                        ": line 1, column 11: the id of \"<|x|>\" is \"three\", expected a whole "
                        "number, of a token");
}

TEST(WordPieceFile, ReadsAddedTokensJson) {
  const test::Scratch scratch;
  write_file(scratch / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  write_file(scratch / "added_tokens.json", R"({"[x]": 5})");
  EXPECT_THAT(load_tokenizer(scratch.folder())->encode("a [x] a", false).ids, ElementsAre(4, 5, 4));
}

}  // namespace
}  // namespace heed
