// vocab.json and merges.txt, and what tokenizer_config.json says beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heed/text/tokenizer.h"
#include "io/atomic_file.h"
#include "support/scratch.h"

namespace heed {
namespace {

using testing::ElementsAre;

// What AutoTokenizer of transformers 5.23 gives for such a folder.
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

}  // namespace
}  // namespace heed
