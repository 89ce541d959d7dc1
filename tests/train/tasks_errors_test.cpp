// Settings that do not fit a task are named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"
#include "train/task_run.h"

namespace heed {
namespace {

class TaskErrors : public test::TaskRun {};

TEST_F(TaskErrors, WhatDoesNotFitIsNamed) {
  config_.task = "mlm";
  config_.model = R"({"model_type": "gpt2"})";
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kUnsupported,
                    "train: model: line 1, column 15: model_type is 'gpt2', expected a family that "
                    "predicts masked tokens");
  config_.model = "{}";
  translate();
  lines("b.txt", [](int i) { return fmt::format("{}", i); }, 59);
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    "train: targets is 59 lines, expected 60, as data has");
  lines("b.txt", [](int i) { return i == 3 ? std::string(40, '7') : fmt::format("{}", i); });
  EXPECT_HEED_ERROR(
      run("c"), ErrorCode::kInvalidArgument,
      fmt::format("train: {}: line 4: 41 tokens long, expected at most 16 (block)", at("b.txt")));
  lines("b.txt", [](int i) { return i == 5 ? std::string() : fmt::format("{}", i); });
  EXPECT_HEED_ERROR(
      run("d"), ErrorCode::kInvalidArgument,
      fmt::format("train: {}: line 6: targets is an empty line, expected a text", at("b.txt")));
  config_.targets = {};
  config_.data = {};
  config_.generate = "anomaly";
  EXPECT_HEED_ERROR(run("e"), ErrorCode::kInvalidArgument,
                    "train: task is \"seq2seq\", expected classify (to generate \"anomaly\")");
  config_.task = "classify";
  config_.block = 6;
  config_.label_smoothing = 0;
  EXPECT_HEED_ERROR(run("f"), ErrorCode::kInvalidArgument,
                    "train: block is 6, expected at least 10 (\"anomaly\" of length 10)");
}

TEST_F(TaskErrors, ASourceLongerThanThePositionsIsNamed) {
  translate();
  lines("a.txt", [](int i) { return i == 7 ? std::string(40, '7') : fmt::format("{}", i); });
  EXPECT_HEED_ERROR(
      run("a"), ErrorCode::kInvalidArgument,
      fmt::format("train: {}: line 8: 41 tokens long, expected at most 16 (block)", at("a.txt")));
  label_texts();
  lines("texts.txt", [](int i) { return fmt::format("{}\t{}", i % 2, std::string(40, '7')); });
  config_.targets = {};
  config_.label_smoothing = 0;
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    fmt::format("train: {}: line 1: a text of 42 tokens, expected 1 to 16 (block)",
                                at("texts.txt")));
}

TEST_F(TaskErrors, AnEmptyFileIsNamed) {
  write_file(scratch_ / "text.txt", "");
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kInvalidArgument, "train: data is empty, expected a text");
  mask();
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument, "train: data is empty, expected a text");
  config_.whole_words = false;
  config_.pairs = 0;
  translate();
  lines("a.txt", [](int) { return ""; }, 0);
  lines("b.txt", [](int) { return ""; }, 0);
  EXPECT_HEED_ERROR(run("c"), ErrorCode::kInvalidArgument,
                    "train: data is 0 pairs of lines for training, expected at least one");
  label_texts();
  lines("texts.txt", [](int) { return ""; }, 0);
  config_.targets = {};
  config_.label_smoothing = 0;
  EXPECT_HEED_ERROR(run("d"), ErrorCode::kInvalidArgument,
                    "train: data is 0 texts for training, expected at least one");
}

TEST_F(TaskErrors, TextsThatAreNoUtf8AreNamed) {
  translate();
  write_file(scratch_ / "b.txt", "caf\xE9\n");
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kCorrupt,
                    fmt::format("train: {}: byte 3: not valid UTF-8", at("b.txt")));
  label_texts();
  write_file(scratch_ / "texts.txt", "a\t\xFF\xFE\n");
  config_.targets = {};
  config_.label_smoothing = 0;
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kCorrupt,
                    fmt::format("train: {}: byte 2: not valid UTF-8", at("texts.txt")));
}

TEST_F(TaskErrors, LabelsThatAreNoneAreNamed) {
  label_texts();
  lines("texts.txt", [](int i) { return i == 2 ? "no tab" : fmt::format("a\t{}", i); });
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kInvalidArgument,
                    fmt::format("train: {}: line 3: \"no tab\", expected a label, a tab and a text",
                                at("texts.txt")));
  lines("texts.txt", [](int i) { return fmt::format("a\t{}", i); });
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    "train: data is 1 label, expected at least two that differ");
}

}  // namespace
}  // namespace heed
