#include "text/byte_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/philox.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "text/utf8.h"

namespace heed {
namespace {

using testing::ElementsAre;

constexpr std::string_view kText =
    "low lower lowest newest widest low low newest widest newest newest\n";

std::unique_ptr<Tokenizer> small() { return train_byte_bpe(kText, {.vocabulary_size = 270}); }

std::string random_text(Random& random, std::size_t characters) {
  std::string text;
  while (characters > 0) {
    const auto bits = random.below(21) + 1;  // short codes as often as long ones
    const auto code = static_cast<char32_t>(random.below(std::uint64_t{1} << bits));
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) continue;
    text += to_utf8(code);
    --characters;
  }
  return text;
}

TEST(ByteBpeTraining, TheMostFrequentPairIsMergedFirst) {
  const auto json = nlohmann::json::parse(small()->to_json());
  // 6 of "es", "st"; "Ġn", "ew" ... have 4 or 5. Ties go to the smaller ids: "es" before "st".
  EXPECT_EQ(json["model"]["merges"][0], "e s");
  EXPECT_EQ(json["model"]["merges"][1], "es t");
}

TEST(ByteBpeTraining, SpecialTokensComeFirst) {
  const auto tokenizer = train_byte_bpe(
      kText, {.vocabulary_size = 260, .special_tokens = {"<|endoftext|>", "<|pad|>"}});
  EXPECT_EQ(tokenizer->find("<|endoftext|>"), 0);
  EXPECT_EQ(tokenizer->find("<|pad|>"), 1);
  EXPECT_EQ(tokenizer->find("!"), 2);
  EXPECT_TRUE(tokenizer->is_special(1));
  EXPECT_FALSE(tokenizer->is_special(2));
  EXPECT_EQ(tokenizer->vocabulary_size(), 260);
}

TEST(ByteBpeTraining, MergesDoNotReachAcrossSpecialTokens) {
  const auto tokenizer =
      train_byte_bpe("x<|endoftext|>x<|endoftext|>x<|endoftext|>x", {.vocabulary_size = 1000});
  EXPECT_EQ(tokenizer->vocabulary_size(), 257);
}

TEST(ByteBpeTraining, StopsWhereNoPairRepeats) {
  EXPECT_EQ(train_byte_bpe("abcdef", {.vocabulary_size = 4096})->vocabulary_size(), 257);
  EXPECT_EQ(train_byte_bpe("", {.vocabulary_size = 4096})->vocabulary_size(), 257);
}

TEST(ByteBpeTraining, RunsOfOneCharacterAreCountedRight) {
  // aaaaa is aa aa a after the first merge; (aa, a) and (aa, aa) then tie, and a has the smaller
  // id.
  const auto tokenizer = train_byte_bpe("aaaaa\naaaaa\n", {.vocabulary_size = 1000});
  const auto json = nlohmann::json::parse(tokenizer->to_json());
  EXPECT_THAT(json["model"]["merges"], ElementsAre("a a", "aa a", "aa aaa"));
}

TEST(ByteBpeTraining, ImpossibleWishesAreRefused) {
  EXPECT_HEED_ERROR(
      train_byte_bpe(kText, {.vocabulary_size = 256}), ErrorCode::kInvalidArgument,
      "tokenizer: vocabulary_size is 256, expected at least 257: 1 special tokens and "
      "256 bytes");
  EXPECT_HEED_ERROR(
      train_byte_bpe(kText, {.special_tokens = {"a", "a"}}), ErrorCode::kInvalidArgument,
      "tokenizer: special_tokens is a list with 'a' twice, expected texts that differ");
  EXPECT_HEED_ERROR(train_byte_bpe("\xFF", {}), ErrorCode::kInvalidArgument,
                    "text: byte 0 is 0xFF, which is not valid UTF-8 there");
}

TEST(ByteBpe, SpansAreTheBytesOfTheText) {
  const std::string text = "low newest <|endoftext|>猫";
  const auto tokenizer = small();
  const Encoding encoding = tokenizer->encode(text, true);
  std::int64_t reached = 0;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const auto [begin, end] = encoding.spans[i];
    EXPECT_EQ(begin, reached);
    EXPECT_EQ(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
              tokenizer->token_bytes(encoding.ids[i]));
    reached = end;
  }
  EXPECT_EQ(reached, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(encoding.spans.back().end - encoding.spans.back().begin, 1);  // a third of 猫
}

TEST(ByteBpe, AnyTextComesBack) {
  const auto tokenizer = small();
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_text(random, random.below(200));
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(text, true).ids, false), text);
  }
}

TEST(ByteBpe, DecodingLeavesSpecialTokensOutOnRequest) {
  const auto tokenizer = small();
  const auto ids = tokenizer->encode("low<|endoftext|>low", false).ids;
  EXPECT_EQ(tokenizer->decode(ids, false), "low<|endoftext|>low");
  EXPECT_EQ(tokenizer->decode(ids, true), "lowlow");
}

TEST(ByteBpe, InvalidTextIsRefused) {
  EXPECT_HEED_ERROR(small()->encode("low \x80", false), ErrorCode::kInvalidArgument,
                    "text: byte 4 is 0x80, which is not valid UTF-8 there");
}

TEST(ByteBpe, AnIdOutsideTheVocabularyIsRefused) {
  const std::vector<TokenId> ids = {300};
  EXPECT_HEED_ERROR(small()->decode(ids, false), ErrorCode::kInvalidArgument,
                    "tokenizer: id is 300, expected 0 to 269");
  EXPECT_HEED_ERROR(small()->token_bytes(-1), ErrorCode::kInvalidArgument,
                    "tokenizer: id is -1, expected 0 to 269");
}

TEST(ByteBpe, ItsJsonGivesTheSameTokenizer) {
  const test::Scratch scratch;
  const auto tokenizer = small();
  write_file(scratch / "tokenizer.json", tokenizer->to_json());
  const auto loaded = load_tokenizer(scratch.folder());
  EXPECT_EQ(loaded->encode(kText, true).ids, tokenizer->encode(kText, true).ids);
  EXPECT_EQ(loaded->vocabulary_size(), 270);
  EXPECT_TRUE(loaded->is_special(0));
  EXPECT_EQ(loaded->to_json(), tokenizer->to_json());
}

TEST(ByteBpe, ServesSeveralThreads) {
  const auto tokenizer = small();
  const auto expected = tokenizer->encode(kText, false).ids;
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (std::size_t t = 0; t < same.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) same[t] += tokenizer->encode(kText, false).ids == expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(same, ElementsAre(100, 100, 100, 100));
}

}  // namespace
}  // namespace heed
