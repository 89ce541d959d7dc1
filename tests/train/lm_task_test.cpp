// Inputs of a model for the next token: pieces of the text, and repeated random sequences.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "train/task.h"
#include "train/task_run.h"
#include "train/text_data.h"

namespace heed {
namespace {

class LmTaskExamples : public test::TaskRun {};

TEST_F(LmTaskExamples, RandomTokensRepeatAndOnlyWhatCanBeKnownIsAskedFor) {
  config_.random_repeats = 0.25;
  config_.block = 64;
  const auto task = make_lm_task(config_, load_text_data(config_));
  int repeating = 0;
  int is_short = 0;
  for (int i = 0; i < 400; ++i) {
    Example example;
    task->make(i, example);
    EXPECT_EQ(example.counted(), task->counted(i));
    const auto period = static_cast<std::size_t>(config_.block - example.counted());
    if (period == 0) continue;
    ++repeating;
    is_short += period < 24 ? 1 : 0;
    EXPECT_GE(period, 16U);
    EXPECT_LE(period, 32U);
    for (std::size_t t = period; t < example.ids.size(); ++t) {
      EXPECT_EQ(example.ids[t], example.ids[t - period]);
      EXPECT_EQ(example.targets[t], example.ids[t + 1 - period]);
    }
  }
  EXPECT_NEAR(repeating, 100, 25);
  EXPECT_NEAR(is_short, .5 * repeating, 20);
}

void expect_begun(const Example& example, TokenId first) {
  ASSERT_EQ(example.ids.size(), 12U);
  ASSERT_EQ(example.targets.size(), 12U);
  EXPECT_EQ(example.ids[0], first);
  EXPECT_EQ(example.targets[0], kIgnoredTarget);
  if (example.targets[1] == kIgnoredTarget) return;
  EXPECT_EQ(example.targets[1], example.ids[2]);
}

TEST_F(LmTaskExamples, SequencesMayBeginWithTheTokenizersFirstToken) {
  config_.tokenizer = "byte-bpe";
  config_.vocabulary = 270;
  config_.block = 12;
  config_.add_bos_token = true;
  config_.random_repeats = 0.5;
  const auto task = make_lm_task(config_, load_text_data(config_));
  const Tokenizer& tokenizer = *task->data().tokenizer;
  const TokenId first = tokenizer.find("<s>");
  EXPECT_EQ(tokenizer.encode("a", /*add_special=*/true).ids.front(), first);
  for (int i = 0; i < 40; ++i) {
    Example example;
    task->make(i, example);
    expect_begun(example, first);
    EXPECT_EQ(example.counted(), task->counted(i));
  }
  Example example;
  task->make_validation(0, task->validation_examples(), example);
  expect_begun(example, first);
  EXPECT_EQ(example.counted(), 11);
  config_.tokenizer = "characters";
  EXPECT_HEED_ERROR(load_text_data(config_), ErrorCode::kInvalidArgument,
                    "train: add_bos_token is true, expected false: the tokenizer puts no token "
                    "before a text");
}

}  // namespace
}  // namespace heed
