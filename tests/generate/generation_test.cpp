// Generation step by step.
#include <gtest/gtest.h>

#include <string>

#include "generate/letters.h"
#include "heed/generate.h"
#include "text/word_level.h"

namespace heed {
namespace {

using test::ids_of;
using test::letters_model;

TEST(Generation, TokenByTokenItWritesWhatGenerateDoes) {
  const auto model = letters_model();
  const auto tokenizer = train_characters("abcdefghijk");
  const GenerateArgs args = {.prompts = {{1, 2, 3}, {4}},
                             .most_tokens = 6,
                             .sampling = {.temperature = 1},
                             .tokenizer = tokenizer.get(),
                             .stop_at_end = false};
  GenerateListener nobody;
  Generation generation(*model, args, nobody);
  EXPECT_FALSE(generation.has_ended(0));
  int steps = 1;
  while (generation.step()) EXPECT_EQ(std::ssize(generation.texts()[1].tokens), steps++);
  EXPECT_EQ(steps, 6);
  EXPECT_FALSE(generation.step());
  const std::vector<Generated> whole = generate(*model, args);
  for (std::size_t row : {0, 1}) {
    EXPECT_TRUE(generation.has_ended(row));
    EXPECT_EQ(ids_of(generation.texts()[row]), ids_of(whole[row]));
    EXPECT_EQ(generation.texts()[row].text, whole[row].text);
  }
}

TEST(Generation, ASearchIsOneStep) {
  const auto model = letters_model();
  const GenerateArgs args = {.prompts = {{1, 2}}, .most_tokens = 4, .beams = 3};
  GenerateListener nobody;
  Generation generation(*model, args, nobody);
  EXPECT_FALSE(generation.step());
  EXPECT_TRUE(generation.has_ended(0));
  EXPECT_EQ(ids_of(generation.texts()[0]), ids_of(generate(*model, args)[0]));
  EXPECT_FALSE(generation.step());
}

}  // namespace
}  // namespace heed
