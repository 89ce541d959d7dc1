// heed train interrupted, and with invalid arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <random>
#include <string_view>
#include <thread>

#include "cli/train_program.h"
#include "train/checkpoint.h"

namespace heed {
namespace {

using test::TrainProgram;

// The step of the latest checkpoint; 0 where the folder has no checkpoint.
std::int64_t last_step(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return 0;
  const auto kept = list_checkpoints(folder);
  constexpr std::size_t kName = std::string_view("checkpoint-").size();
  return kept.empty() ? 0 : std::stoll(kept.front().filename().string().substr(kName));
}

// The processor's time that a child has used.
double cpu_seconds(pid_t child) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(child, &clock) == 0) ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

TEST_F(TrainProgram, CtrlCKeepsWhatWasDone) {
  ASSERT_EQ(run(arguments("whole")), 0);
  int status = 0;
  while (status == 0) {  // it may come to its end before this process is woken
    std::filesystem::remove_all(scratch_ / "stopped");
    const pid_t child = start(arguments("stopped"));
    wait_until(child, [&] { return last_step(scratch_ / "stopped") >= 3; });
    ::kill(child, SIGINT);
    status = wait_for(child);
  }
  EXPECT_EQ(status, 130);
  EXPECT_EQ(last_line().substr(0, 31), "heed train: stopped after step ");
  EXPECT_EQ(run({"train", "-o", scratch_ / "stopped", "--resume", "--threads", "2"}), 0);
  EXPECT_EQ(test::loss_rows(scratch_ / "stopped"), test::loss_rows(scratch_ / "whole"));
}

// A step of this many passes takes minutes; a run that completed it would have stopped after
// step 1.
TEST_F(TrainProgram, TermIsAnsweredInsideOfAStep) {
  auto words = arguments("long");
  words.insert(words.end(), {"--accumulate", "4096", "--batch", "32"});
  const pid_t child = start(words);
  wait_until(child, [&] { return std::filesystem::exists(scratch_ / "long" / "loss.csv"); });
  const double before = cpu_seconds(child);
  wait_until(child, [&] { return cpu_seconds(child) > before + 0.2; });
  ::kill(child, SIGTERM);
  EXPECT_EQ(wait_for(child), 130);
  EXPECT_EQ(last_line().substr(0, 33), "heed train: stopped after step 0;");
  EXPECT_NO_THROW(read_state(list_checkpoints(scratch_ / "long").at(0)));
}

TEST_F(TrainProgram, EndedAtAnyInstantItGoesOnToTheSameLosses) {
  auto words = arguments("whole");
  words.insert(words.end(), {"--evaluate-every", "1"});
  std::erase(words, "10");  // the other value of --evaluate-every
  words.erase(std::ranges::find(words, "--evaluate-every"));
  ASSERT_EQ(run(words), 0) << last_line();
  words[2] = scratch_ / "ended";
  words.emplace_back("--resume");
  std::mt19937 random(21);
  const std::filesystem::path folder = scratch_ / "ended";
  int ends = 0;
  for (int status = 130; status != 0 || ends < 2;) {
    if (status == 0) std::filesystem::remove_all(folder);  // it was too quick: once more
    const std::int64_t before = last_step(folder);
    const pid_t child = start(words);
    wait_until(child, [&] { return last_step(folder) > before; });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 50));  // an instant in a step
    ::kill(child, SIGTERM);
    status = wait_for(child);
    // On a busy machine the signal may come before the program asks for it.
    ASSERT_TRUE(status == 0 || status == 130 || status == -SIGTERM) << status << last_line();
    ends += status == 130 ? 1 : 0;
  }
  EXPECT_EQ(test::loss_rows(folder), test::loss_rows(scratch_ / "whole"));
}

TEST_F(TrainProgram, ARunThatNoMachineHoldsIsRefusedAtOnce) {
  auto words = arguments("huge");
  words.insert(words.end(), {"--heads", "1"});
  std::ranges::replace(words, std::string("2"), std::string("1000000000"));  // of --layers
  words[std::ranges::find(words, "--threads") - words.begin() + 1] = "2";
  EXPECT_EQ(run(words), 2);
  EXPECT_EQ(last_line().substr(0, 64),
            "heed train: --layers is 1000000000, expected less: the run would");
}

TEST_F(TrainProgram, ABadArgumentIsOneLineAndStatusTwo) {
  EXPECT_EQ(run({"train", "-o", scratch_ / "a", "--task", "mlm", "--data", "x.txt"}), 2);
  EXPECT_EQ(read_file(scratch_ / "stderr"), "heed train: x.txt: no such file or folder\n");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "a"));
}

TEST_F(TrainProgram, AFlagOverridesTheFile) {
  write_file(scratch_ / "c.json", R"({"steps": 9, "layers": 1, "width": 16, "heads": 2})");
  ASSERT_EQ(run({"train", scratch_ / "c.json", "-o", scratch_ / "a", "--steps", "2", "--data",
                 scratch_ / "text.txt"}),
            0);
  EXPECT_EQ(test::loss_rows(scratch_ / "a").size(), 3U);
}

}  // namespace
}  // namespace heed
