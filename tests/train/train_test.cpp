#include "heed/train.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "heed/model.h"
#include "heed/threads.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace heed {
namespace {

using test::loss_rows;
using test::Recorder;

using Train = test::SmallRun;

TEST_F(Train, SaysThatTheLearningRateOnlyRises) {
  config_.steps = 2;
  run("short");
  ASSERT_EQ(recorder_.notes.size(), 1U);
  EXPECT_EQ(recorder_.notes[0], "warmup (3) is not below steps (2): the learning rate never falls");
}

TEST_F(Train, LearnsATinyTextByHeart) {
  write_file(scratch_ / "tiny.txt", "the quick brown fox jumps over a lazy dog.");
  config_.data = {(scratch_ / "tiny.txt").string()};
  config_.validation = 0;
  config_.width = 32;
  config_.steps = 300;
  config_.learning_rate = 1e-2;
  EXPECT_LT(run("a").loss, 0.1);
}

TEST_F(Train, TheFirstLossIsThatOfAGuess) {
  recorder_.stop_at = 1;
  EXPECT_THROW(run("a"), Error);
  EXPECT_NEAR(recorder_.last.loss, std::log(22.0), 0.1);  // 22 characters occur in the text
}

TEST_F(Train, AccumulationEqualsTheLargerBatch) {
  config_.steps = 3;
  config_.batch = 8;
  run("whole");
  const double whole = recorder_.last.loss;
  config_.batch = 2;
  config_.accumulate = 4;
  run("pieces");
  EXPECT_NEAR(recorder_.last.loss, whole, 1e-5);
}

TEST_F(Train, LossesAreThoseOfOneThreadWithinRounding) {
  config_.batch = 6;
  config_.dropout = 0.2;
  config_.attention_dropout = 0.2;  // masks are those of the whole batch, however it is cut
  set_thread_count(1);
  const TrainResult one = run("one");
  for (const int threads : {2, 3, 4, 7}) {
    set_thread_count(threads);
    const TrainResult many = run(fmt::format("many{}", threads));
    EXPECT_NEAR(many.loss, one.loss, 1e-4 * one.loss) << threads;
    EXPECT_NEAR(many.validation_loss.value_or(0), one.validation_loss.value_or(1), 1e-4 * one.loss)
        << threads;
  }
  set_thread_count(0);
}

// As a stop inside of the evaluation leaves it.
TEST_F(Train, BeginsWithAModelThatIsNamed) {
  config_.start_from = "nope";
  try {
    run("a");
    FAIL() << "no such model";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_EQ(std::string(error.what()).find("train: start_from is 'nope', neither a folder"), 0U)
        << error.what();
  }
}

TEST_F(Train, KeepsTheLastTwoCheckpoints) {
  run("a");
  EXPECT_FALSE(std::filesystem::exists(checkpoint("a", 10)));
  EXPECT_TRUE(std::filesystem::exists(checkpoint("a", 15)));
  EXPECT_TRUE(std::filesystem::exists(checkpoint("a", 20)));
}

TEST_F(Train, AFolderThatHoldsARunIsLeftAsItIs) {
  run("a");
  const std::string losses = read_file(scratch_ / "a" / "loss.csv");
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kInvalidArgument,
                    fmt::format("train: {}: holds a run already; continue it with --resume (in "
                                "Python resume=True), or choose another folder",
                                (scratch_ / "a").string()));
  EXPECT_EQ(read_file(scratch_ / "a" / "loss.csv"), losses);
}

TEST_F(Train, AFullDiskIsAnErrorAndLeavesTheLastCheckpoint) {
  std::uintmax_t size = 0;  // of that checkpoint: the text of its state makes each a little other
  recorder_.at_step = [&](std::int64_t step) {
    if (step == 12) size = std::filesystem::file_size(checkpoint("whole", 10));
  };
  run("whole");
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead, as on a full disk
  rlimit limit = {};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit unlimited = limit;
  limit.rlim_cur = size - 64;  // its seconds may have some digits fewer in the other run
  recorder_.at_step = [&](std::int64_t step) {
    if (step == 7) ::setrlimit(RLIMIT_FSIZE, &limit);
  };
  EXPECT_HEED_ERROR(run("full"), ErrorCode::kIo,
                    checkpoint("full", 10) + ": cannot be written: File too large");
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  recorder_.at_step = nullptr;
  run("full", true);
  EXPECT_EQ(recorder_.notes.back(), "goes on after step 5 (" + checkpoint("full", 5) + ")");
  EXPECT_EQ(loss_rows(scratch_ / "full"), loss_rows(scratch_ / "whole"));
}

TEST_F(Train, ANumberThatIsNotFiniteStopsWithStepTensorAndCheckpoint) {
  config_.learning_rate = 1e37;
  config_.warmup = 0;
  config_.checkpoint_every = 1;
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kFailed,
                    fmt::format("train: the loss is nan at step 2: the gradient of "
                                "transformer.wte.weight is not finite; last good checkpoint: {}",
                                checkpoint("a", 1)));
}

TEST_F(Train, WritesTheBestModelAndItsCard) {
  const TrainResult result = run("a");
  const LoadedModel loaded = load_model(result.model);
  EXPECT_EQ(loaded.model->info().layers, 2);
  EXPECT_EQ(loaded.tokenizer->vocabulary_size(), 22);
  EXPECT_NE(read_file(result.model / "card.md").find("20 steps, 1280 tokens, seed 1337"),
            std::string::npos);
}

TEST_F(Train, WritesTheModelInTheAskedType) {
  config_.dtype = "bf16";
  config_.validation = 0;
  const TrainResult result = run("a");
  const auto file = Safetensors::open(result.model / "model.safetensors");
  EXPECT_EQ(file.tensor(file.names().front()).dtype(), DType::kBF16);
}

// As many sequences in other batches give the same steps, and the same loss.
TEST_F(Train, TheValidationLossDoesNotDependOnTheBatch) {
  const auto loss = [](const TrainResult& result) { return result.validation_loss.value_or(-1); };
  const double whole = loss(run("whole"));
  EXPECT_GT(whole, 0);
  config_.batch = 2;
  config_.accumulate = 2;
  EXPECT_NEAR(loss(run("halves")), whole, 1e-4);
}

TEST_F(Train, SamplesShowWhatTheModelWrites) {
  config_.sample_every = 10;
  config_.sample_prompt = "after ";
  run("a");
  const std::string samples = read_file(scratch_ / "a" / "samples.txt");
  ASSERT_EQ(recorder_.notes.size(), 2U);
  EXPECT_EQ(samples, recorder_.notes[0] + recorder_.notes[1]);
  EXPECT_EQ(recorder_.notes[1].substr(0, 18), "--- step 20\nafter ");
  EXPECT_EQ(recorder_.notes[1].size(), 18U + 200U + 1U);  // past the 16 positions
}

TEST_F(Train, SamplesDoNotChangeTheLosses) {
  config_.dropout = 0.1;
  run("without");
  config_.sample_every = 1;
  config_.sample_prompt = "a";
  run("with");
  EXPECT_EQ(loss_rows(scratch_ / "with"), loss_rows(scratch_ / "without"));
}

TEST_F(Train, ASamplePromptThatTheModelCannotReadIsAnErrorAtTheStart) {
  config_.sample_every = 2;
  EXPECT_HEED_ERROR(
      run("a"), ErrorCode::kInvalidArgument,
      "train: sample_prompt is not given, expected at least one character (the model has "
      "no first token to start from)");
  config_.sample_prompt = "a ~";
  EXPECT_HEED_ERROR(
      run("c"), ErrorCode::kInvalidArgument,
      "train: byte 2: sample_prompt is \"a ~\", of which '~' (U+007E) is not among the "
      "22 pieces of the vocabulary");
  config_.sample_prompt = "after 1 comes 2.\n";
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    "train: sample_prompt is 17 tokens long, expected at most 16 (block)");
}

TEST_F(Train, ASecondTrainerInTheSameFolderIsRefused) {
  recorder_.at_step = [this](std::int64_t step) {
    if (step != 2) return;
    Recorder other;
    EXPECT_HEED_ERROR(
        train({.config = config_, .folder = scratch_ / "a", .resume = true}, other),
        ErrorCode::kInvalidArgument,
        fmt::format("train: {}: another run is writing here", (scratch_ / "a").string()));
  };
  run("a");
}

}  // namespace
}  // namespace heed
