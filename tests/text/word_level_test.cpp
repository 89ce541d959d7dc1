#include "text/word_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "support/shared_data.h"

namespace heed {
namespace {

using testing::ElementsAre;

TEST(Characters, IdsFollowTheSortedCharacters) {
  const auto tokenizer = train_characters("b猫a\nb");
  EXPECT_THAT(tokenizer->encode("\nab猫", true).ids, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(tokenizer->vocabulary_size(), 4);
}

TEST(Characters, SpansAreWholeCharacters) {
  const Encoding encoding = train_characters("a猫")->encode("猫a", false);
  EXPECT_EQ(encoding.spans[0].begin, 0);
  EXPECT_EQ(encoding.spans[0].end, 3);
  EXPECT_EQ(encoding.spans[1].end, 4);
}

TEST(Characters, ACharacterOutsideIsNamedWithItsByte) {
  EXPECT_HEED_ERROR(train_characters("abc")->encode("ab\u00E9", false), ErrorCode::kInvalidArgument,
                    "tokenizer: byte 2: 'é' (U+00E9) is not among the 3 pieces of the "
                    "vocabulary");
}

TEST(Characters, ItsJsonGivesTheSameTokenizer) {
  const test::Scratch scratch;
  const auto tokenizer = train_characters("ab \"\\\n猫");
  write_file(scratch / "tokenizer.json", tokenizer->to_json());
  const auto loaded = load_tokenizer(scratch / "tokenizer.json");
  const std::string text = "猫\n\\\" a";
  EXPECT_EQ(loaded->encode(text, false).ids, tokenizer->encode(text, false).ids);
  EXPECT_EQ(loaded->decode(loaded->encode(text, false).ids, false), text);
  EXPECT_THROW(loaded->encode("c", false), Error);
}

TEST(Characters, AnEmptyTextHasNone) {
  EXPECT_HEED_ERROR(train_characters(""), ErrorCode::kInvalidArgument,
                    "tokenizer: the text to learn characters from is empty");
}

TEST(Characters, TheSharedModelPutsItsStartInFrontAndDropsTheRest) {
  HEED_NEEDS_SHARED("models/makemore-induction");
  const auto tokenizer = load_tokenizer(test::shared_data() / "models/makemore-induction");
  EXPECT_EQ(tokenizer->vocabulary_size(), 27);
  EXPECT_THAT(tokenizer->encode("a!z.", true).ids, ElementsAre(0, 1, 26, 0));
  EXPECT_THAT(tokenizer->encode("a!z", false).ids, ElementsAre(1, 26));
  const Encoding encoding = tokenizer->encode("!az", true);
  EXPECT_EQ(encoding.spans[0].end, 0);
  EXPECT_EQ(encoding.spans[1].begin, 1);
  EXPECT_TRUE(tokenizer->is_special(0));
  EXPECT_EQ(tokenizer->decode(encoding.ids, true), "az");
}

TEST(WordTokenizer, WordsAreTokensBehindTheSpecialOnes) {
  const std::vector<std::string> words = {"3", "1", "+"};
  const auto tokenizer =
      word_tokenizer(words, {.tokens = {"<pad>", "</s>"}, .begin = "", .end = "</s>"});
  EXPECT_EQ(tokenizer->vocabulary_size(), 5);
  EXPECT_EQ(tokenizer->encode("1 + 3", false).ids, (std::vector<TokenId>{3, 4, 2}));
  EXPECT_EQ(tokenizer->encode("1 + 3", true).ids, (std::vector<TokenId>{3, 4, 2, 1}));
  EXPECT_TRUE(tokenizer->is_special(1));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{3, 4, 2, 1}, true), "1 + 3");
  EXPECT_HEED_ERROR(tokenizer->encode("1 - 3", false), ErrorCode::kInvalidArgument,
                    "tokenizer: byte 2: '-' (U+002D) is not among the 5 pieces of the vocabulary");
}

TEST(Characters, SpecialTokensComeFirstAndStandAroundTexts) {
  const auto tokenizer = train_characters(
      "ba", {.tokens = {"[CLS]", "[SEP]", "[MASK]"}, .begin = "[CLS]", .end = "[SEP]"});
  EXPECT_EQ(tokenizer->encode("ab", true).ids, (std::vector<TokenId>{0, 3, 4, 1}));
  EXPECT_EQ(tokenizer->find("[MASK]"), 2);
  EXPECT_EQ(tokenizer->encode("a[MASK]", false).ids, (std::vector<TokenId>{3, 2}));
}

}  // namespace
}  // namespace heed
