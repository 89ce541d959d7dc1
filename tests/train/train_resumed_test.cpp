// Runs that stop, are stopped, and resume.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/machine.h"
#include "heed/model.h"
#include "heed/threads.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "text/word_level.h"
#include "train/small_run.h"

namespace heed {
namespace {

using test::loss_rows;

class TrainResumed : public test::SmallRun {
 protected:
  // Writes the checkpoint anew with another text in its state.
  static void edit_state(const std::string& path, const std::string& from, const std::string& to) {
    std::vector<Tensor> kept;
    std::vector<NamedView> tensors;
    const Safetensors file = Safetensors::open(path);
    std::string state = file.metadata().at("heed_train_state");
    ASSERT_NE(state.find(from), std::string::npos) << state;
    state.replace(state.find(from), from.size(), to);
    for (const std::string& name : file.names()) kept.push_back(Tensor::copy_of(file.tensor(name)));
    for (std::size_t i = 0; i < kept.size(); ++i) tensors.push_back({file.names()[i], kept[i]});
    write_safetensors(path, tensors, {{"heed_train_state", state}});
  }
};

TEST_F(TrainResumed, AResumedRunFollowsTheSameLossesBitForBit) {
  config_.dropout = 0.1;
  config_.attention_dropout = 0.1;
  run("whole");
  run_until(13, "parts");
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
  EXPECT_EQ(loss_rows(scratch_ / "parts").size(), 21U);
  const std::string norms = read_file(scratch_ / "whole" / "gradient_norms.csv");
  EXPECT_EQ(std::ranges::count(norms, '\n'), 21);
  EXPECT_EQ(read_file(scratch_ / "parts" / "gradient_norms.csv"), norms);
}

TEST_F(TrainResumed, TheFirstStepTellsTheTokensASecond) {
  run_until(5, "a");
  recorder_.at_step = [&](std::int64_t step) {
    if (step == 6) {
      EXPECT_GT(recorder_.last.tokens_per_second, 0);
    }
  };
  run("a", /*resume=*/true);
}

TEST_F(TrainResumed, ARunWhoseRateDoesNotFallCanBeMadeLonger) {
  config_.schedule = "constant";
  run("whole");
  const std::int64_t steps = config_.steps;
  config_.steps = steps - 7;
  run("longer");
  config_.steps = steps;
  run("longer", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "longer").size(), loss_rows(scratch_ / "whole").size());
  EXPECT_EQ(loss_rows(scratch_ / "longer").back(), loss_rows(scratch_ / "whole").back());
  config_.steps = steps - 7;
  EXPECT_HEED_ERROR(run("longer", /*resume=*/true), ErrorCode::kInvalidArgument,
                    fmt::format("train: steps is {}, expected at least {}, which the run has done",
                                steps - 7, steps));
}

TEST_F(TrainResumed, ARunThatFallsToItsLastStepCannot) {
  run("whole");
  const std::int64_t steps = config_.steps++;
  EXPECT_HEED_ERROR(
      run("whole", /*resume=*/true), ErrorCode::kInvalidArgument,
      fmt::format("train: steps is {}, expected {} as in the run to resume; only a schedule "
                  "without a fall at the end can go on longer",
                  steps + 1, steps));
}

TEST_F(TrainResumed, ARunWithoutACheckpointBeginsAgain) {
  run_until(5, "a");
  const std::vector<std::string> before = loss_rows(scratch_ / "a");
  std::filesystem::remove(checkpoint("a", 5));
  run("a", /*resume=*/true);
  EXPECT_THAT(
      recorder_.notes,
      testing::Contains(testing::StartsWith("no checkpoint yet: starting again from step 0 (")));
  const std::vector<std::string> after = loss_rows(scratch_ / "a");
  ASSERT_EQ(after.size(), 21U);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
}

// nanoGPT pads GPT-2's 50,257 to 50,304: an id without a text has none, in samples too.
TEST_F(TrainResumed, AModelWithMoreIdsThanItsTokenizerIsTrainedOn) {
  const auto tokenizer = train_characters(read_file(scratch_ / "text.txt"));
  const std::string config = fmt::format(
      R"({{"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 16,
          "vocab_size": {}}})",
      tokenizer->vocabulary_size() + 50);
  save_model(scratch_ / "wide", *make_model(config, 1), tokenizer.get(), DType::kF32);
  config_.start_from = (scratch_ / "wide").string();
  config_.sample_every = 5;
  config_.sample_prompt = "after ";
  config_.learning_rate = 1e-6;  // samples hold ids of no text
  run("whole");
  run_until(7, "parts");
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
  const std::string samples = read_file(scratch_ / "parts" / "samples.txt");
  EXPECT_EQ(samples, read_file(scratch_ / "whole" / "samples.txt"));
  EXPECT_THAT(samples, testing::HasSubstr("--- step 20\nafter "));
}

TEST_F(TrainResumed, AStoppedRunSaysWhatIsKept) {
  recorder_.stop_at = 7;
  EXPECT_HEED_ERROR(
      run("a"), ErrorCode::kInterrupted,
      fmt::format("train: stopped after step 7; {} is kept (resume goes on)", checkpoint("a", 7)));
}

TEST_F(TrainResumed, AStopInsideOfAStepKeepsTheStepBefore) {
  run("whole");
  recorder_.at_step = [&](std::int64_t step) { stopped_ = step == 7; };  // heard by step 8
  EXPECT_HEED_ERROR(run("parts"), ErrorCode::kInterrupted,
                    fmt::format("train: stopped after step 7; {} is kept (resume goes on)",
                                checkpoint("parts", 7)));
  stopped_ = false;
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
  EXPECT_EQ(read_file(scratch_ / "parts" / "gradient_norms.csv"),
            read_file(scratch_ / "whole" / "gradient_norms.csv"));
}

TEST_F(TrainResumed, AStepThatHasNoRowYetGetsItWhenTheRunGoesOn) {
  config_.checkpoint_every = 1;
  run("whole");
  run_until(10, "parts");
  edit_state(checkpoint("parts", 10), "\"recorded\":true", "\"recorded\":false");
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainResumed, AResumedRunMayNotChangeWhatDecidesTheLosses) {
  run_until(6, "a");
  config_.learning_rate = 0.5;
  EXPECT_HEED_ERROR(run("a", true), ErrorCode::kInvalidArgument,
                    "train: learning_rate is 0.5, expected 0.001 as in the run to resume");
}

TEST_F(TrainResumed, AResumedRunMayNotChangeItsText) {
  run_until(6, "a");
  const std::string before = read_file(scratch_ / "a" / "run.json");
  config_.dtype = "f16";
  write_file(scratch_ / "text.txt", test::counting_text(4100));
  EXPECT_HEED_ERROR(run("a", true), ErrorCode::kInvalidArgument,
                    "train: data is not what the run to resume was started with (its tokens "
                    "differ)");
  EXPECT_EQ(read_file(scratch_ / "a" / "run.json"), before);
}

TEST_F(TrainResumed, ATextThatIsGoneIsNamedAndTheRunGoesOnOnceItIsBack) {
  run("whole");
  run_until(6, "a");
  const std::string text = read_file(scratch_ / "text.txt");
  std::filesystem::remove(scratch_ / "text.txt");
  EXPECT_HEED_ERROR(
      run("a", true), ErrorCode::kNotFound,
      fmt::format("train: {}: no such file or folder", (scratch_ / "text.txt").string()));
  EXPECT_TRUE(std::filesystem::exists(checkpoint("a", 6)));
  write_file(scratch_ / "text.txt", text);
  run("a", true);
  EXPECT_EQ(loss_rows(scratch_ / "a"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainResumed, AnotherCpuAndAnotherNumberOfThreadsAreTold) {
  run_until(6, "a");
  edit_state(checkpoint("a", 6),
             fmt::format("\"cpu\":\"{}\",\"threads\":{}", cpu_name(), thread_count()),
             "\"cpu\":\"a slide rule\",\"threads\":99");
  run("a", true);
  EXPECT_THAT(recorder_.notes,
              testing::IsSupersetOf(
                  {fmt::format("the run was on another CPU (a slide rule, now {}): losses may "
                               "differ in their last digits",
                               cpu_name()),
                   fmt::format("the run had 99 threads, now {}: losses may differ in their last "
                               "digits",
                               thread_count())}));
}

TEST_F(TrainResumed, AFolderWithoutARunIsNamed) {
  run("nothing", /*resume=*/true);
  EXPECT_THAT(recorder_.notes, testing::ElementsAre(fmt::format("{} holds no run yet: begins one",
                                                                (scratch_ / "nothing").string())));
}

TEST_F(TrainResumed, ACheckpointOfAnotherShapeIsRefused) {
  run_until(6, "a");
  config_.width = 32;
  run_until(6, "b");
  config_.width = 16;
  const std::string path = checkpoint("a", 6);
  std::filesystem::copy_file(checkpoint("b", 6), path,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_HEED_ERROR(run("a", true), ErrorCode::kInvalidArgument,
                    "train: width is 16, expected 32 as in the run to resume");
  edit_state(path, R"(\"width\": 32)", R"(\"width\": 16)");  // as if it were the run's own
  EXPECT_HEED_ERROR(
      run("a", true), ErrorCode::kCorrupt,
      fmt::format("{}: value.transformer.wte.weight is f32 [22, 32], expected f32 [22, 16]", path));
}

TEST_F(TrainResumed, AResumedRunMayChangeWhenItKeepsCheckpoints) {
  run_until(6, "a");
  config_.checkpoint_every = 7;
  run("a", true);
  EXPECT_TRUE(std::filesystem::exists(checkpoint("a", 14)));
}

TEST_F(TrainResumed, ATornCheckpointIsPassedOver) {
  run("whole");
  run_until(13, "torn");
  std::filesystem::resize_file(checkpoint("torn", 13), 1000);
  run("torn", true);
  ASSERT_EQ(recorder_.notes.size(), 2U);
  EXPECT_EQ(recorder_.notes[1], "goes on after step 10 (" + checkpoint("torn", 10) + ")");
  EXPECT_EQ(loss_rows(scratch_ / "torn"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainResumed, ADamagedCheckpointIsPassedOver) {
  run("whole");
  run_until(13, "damaged");
  const std::string path = checkpoint("damaged", 13);
  std::string bytes = read_file(path);
  bytes[bytes.size() / 2] ^= 1;  // of a weight or a moment
  write_file(path, bytes);
  run("damaged", true);
  EXPECT_THAT(recorder_.notes,
              testing::Contains(fmt::format("passes over a checkpoint: {}: damaged: its tensors "
                                            "are not those that were written",
                                            path)));
  EXPECT_EQ(loss_rows(scratch_ / "damaged"), loss_rows(scratch_ / "whole"));
}

TEST_F(TrainResumed, AResumedRunHasEachSampleOnce) {
  config_.sample_every = 2;
  config_.sample_prompt = "a";
  run("whole");
  run_until(13, "parts");
  std::filesystem::remove(checkpoint("parts", 13));  // as if killed: goes on from step 10
  run("parts", /*resume=*/true);
  EXPECT_EQ(read_file(scratch_ / "parts" / "samples.txt"),
            read_file(scratch_ / "whole" / "samples.txt"));
}

}  // namespace
}  // namespace heed
