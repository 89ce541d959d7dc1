// Misspelt options and unknown models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "support/places.h"

namespace heed::cli {
namespace {

using test::expect_refused;

TEST(Mistyped, TheBeginningOfAnOptionIsNotIt) {
  expect_refused({"train", "--vocab", "5", "-o", "x"},
                 "unknown option --vocab; the nearest is --vocabulary");
  expect_refused({"train", "-o", "x", "--lr", "1"},
                 "unknown option --lr; the nearest is --learning-rate");
  expect_refused({"train", "-o", "x", "--block_size=8"},
                 "unknown option --block_size; the nearest is --block");
  expect_refused({"train", "-o", "x", "--n-embd", "8"},
                 "unknown option --n-embd; the nearest is --width");
  expect_refused({"look", "-hi"},
                 "unknown option -hi; put -- before a text that begins with a hyphen");
}

TEST(Mistyped, WhatIsNoModelIsNamedWithWhatThereIs) {
  const test::Answer file = test::heed({"look", "hi", "--model", HEED_SOURCE_DIR "/LICENSE"});
  EXPECT_EQ(file.status, 2);
  EXPECT_THAT(file.error,
              testing::HasSubstr("LICENSE', which is a file, but not in GGUF, expected a model's "
                                 "folder, a GGUF file, or one of "));
  expect_refused({"models", "--threads", "2"}, "--threads needs NAME");
}

TEST(Mistyped, ATokenizerThatIsNotThereIsNamed) {
  const std::string text = test::in_scratch("a-text.txt");
  std::ofstream(text) << "the cat sat on the mat";
  expect_refused({"train", "--data", text, "--tokenizer", "foo", "-o", test::in_scratch("no-run")},
                 "--tokenizer is \"foo\", expected \"characters\", \"byte-bpe\", \"word-piece\", a "
                 "tokenizer's file or folder, or a model's name");
}

}  // namespace
}  // namespace heed::cli
