// Changed or missing data, for each task.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"
#include "train/task_run.h"

namespace heed {
namespace {

class DataOfTasks : public test::TaskRun {
 protected:
  std::string data() const { return config_.data[0]; }

  void expect_refused(const std::string& folder, ErrorCode code, const std::string& message) {
    EXPECT_HEED_ERROR(run(folder, /*resume=*/true), code, message);
  }

  // Changes the data of a run that is stopped and resumed; `empty` is the error for empty data.
  void expect_each_is_named(const std::string& task, const std::string& empty) {
    const std::string before = read_file(data());
    run_until(6, task);
    std::filesystem::remove(data());
    expect_refused(task, ErrorCode::kNotFound,
                   fmt::format("train: {}: no such file or folder", data()));
    std::string changed = before;
    changed[changed.rfind('5')] = '6';
    write_file(data(), changed);
    expect_refused(
        task, ErrorCode::kInvalidArgument,
        "train: data is not what the run to resume was started with (its tokens differ)");
    write_file(data(), before.substr(0, 40) + "\xE9" + before.substr(40));
    expect_refused(task, ErrorCode::kCorrupt,
                   fmt::format("train: {}: byte 40: not valid UTF-8", data()));
    write_file(data(), "");
    expect_refused(task, ErrorCode::kInvalidArgument, empty);
    write_file(data(), before);
    EXPECT_EQ(run(task, /*resume=*/true).steps, config_.steps);
  }

  // A learning rate far too large.
  void expect_divergence_is_named(const std::string& task) {
    config_.learning_rate = 1e37;
    config_.warmup = 0;
    config_.checkpoint_every = 1;
    try {
      run(task);
      FAIL() << task << " does not diverge";
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_EQ(error.code(), ErrorCode::kFailed) << said;
      EXPECT_EQ(said.find("train: the "), 0U) << said;
      EXPECT_NE(said.find(" at step "), std::string::npos) << said;
      EXPECT_NE(said.find(" is not finite; last good checkpoint: " + at(task)), std::string::npos)
          << said;
    }
  }
};

TEST_F(DataOfTasks, OfNextTokensAreNamed) {
  expect_each_is_named("lm", "train: data is empty, expected a text");
}

TEST_F(DataOfTasks, OfMaskedTokensAreNamed) {
  mask();
  expect_each_is_named("mlm", "train: data is empty, expected a text");
}

TEST_F(DataOfTasks, OfTranslationsAreNamed) {
  translate();
  expect_each_is_named("seq2seq", "train: targets is 60 lines, expected 0, as data has");
}

TEST_F(DataOfTasks, OfLabelledTextsAreNamed) {
  label_texts();
  expect_each_is_named("texts", "train: data is 0 texts for training, expected at least one");
}

TEST_F(DataOfTasks, OfLabelledTokensAreNamed) {
  label_tokens();
  expect_each_is_named("tokens", "train: data is 0 texts for training, expected at least one");
}

TEST_F(DataOfTasks, EveryTaskThatDivergesSaysWhere) {
  const TrainConfig usual = config_;
  const auto expect = [&](const std::string& task) {
    expect_divergence_is_named(task);
    config_ = usual;
  };
  expect("lm");
  config_.precision = "bf16";
  expect("bf16");
  for_each_task([&](const std::string& task) { expect_divergence_is_named(task); });
  config_.data = {};
  config_.generate = "sort";
  config_.block = 40;
  expect("sort");
}

TEST_F(DataOfTasks, ASourceThatIsTooLongIsNamed) {
  translate();
  lines("a.txt", [](int i) { return i == 7 ? std::string(40, '7') : fmt::format("number {}", i); });
  EXPECT_HEED_ERROR(
      run("a"), ErrorCode::kInvalidArgument,
      fmt::format("train: {}: line 8: 41 tokens long, expected at most 16 (block)", at("a.txt")));
}

}  // namespace
}  // namespace heed
