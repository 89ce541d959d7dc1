// Runs of every task that are killed, and full disks: nothing is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <sstream>
#include <thread>

#include "cli/train_program.h"
#include "io/atomic_file.h"
#include "train/checkpoint.h"

namespace heed {
namespace {

using Words = std::vector<std::string>;

struct KilledRun {
  const char* name;
  Words (*arguments)(const std::filesystem::path& folder);
};

std::string table(int lines, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += line(i) + "\n";
  return text;
}

Words of_text(const std::filesystem::path& folder) { return {"--data", folder / "text.txt"}; }
Words of_masks(const std::filesystem::path& folder) {
  return {"--data", folder / "text.txt", "--task", "mlm", "--whole-words"};
}
Words of_pairs(const std::filesystem::path& folder) {
  write_file(folder / "a", table(300, [](int i) { return fmt::format("number {}", i); }));
  write_file(folder / "b", table(300, [](int i) { return fmt::format("it is {}", i); }));
  return {"--task", "seq2seq", "--data", folder / "a", "--targets", folder / "b"};
}
Words of_labelled_texts(const std::filesystem::path& folder) {
  write_file(folder / "c", table(300, [](int i) {
               return fmt::format("{}\t{} is it", i % 2 == 0 ? "even" : "odd", i);
             }));
  return {"--task", "classify", "--label", "text", "--data", folder / "c"};
}
Words of_labelled_words(const std::filesystem::path& folder) {
  write_file(folder / "d",
             table(300, [](int i) { return fmt::format("the\tword\n{}\tnumber\n", i); }));
  return {"--task", "classify", "--data", folder / "d"};
}
Words of_generated(const std::filesystem::path& /*folder*/) {
  return {"--task", "seq2seq", "--generate", "reverse", "--generate-length", "12"};
}
Words of_bf16(const std::filesystem::path& folder) {
  return {"--data",          folder / "text.txt",
          "--precision",     "bf16",
          "--recompute",     "block",
          "--sample-every",  "7",
          "--sample-prompt", "after"};
}

constexpr KilledRun kRuns[] = {{"lm", of_text},
                               {"mlm", of_masks},
                               {"seq2seq", of_pairs},
                               {"texts", of_labelled_texts},
                               {"tokens", of_labelled_words},
                               {"generated", of_generated},
                               {"bf16", of_bf16}};

void PrintTo(const KilledRun& run, std::ostream* to) {  // NOLINT(readability-identifier-naming)
  *to << run.name;
}

class KilledTask : public test::TrainProgram, public testing::WithParamInterface<KilledRun> {
 protected:
  Words arguments_of(const std::string& folder) const {
    std::istringstream usual(
        "--layers 2 --width 32 --heads 2 --block 32 --steps 30 --warmup 3 --threads 2 "
        "--checkpoint-every 1 --evaluate-every 10 --dropout 0.1 --attention-dropout 0.1");
    Words words = {"train", "-o", scratch_ / folder};
    for (std::string word; usual >> word;) words.push_back(word);
    for (std::string& word : GetParam().arguments(scratch_.folder()))
      words.push_back(std::move(word));
    return words;
  }

  // Kills it until it ends by itself; returns the number of attempts.
  int kill_until_done(const std::string& folder, std::mt19937& random) const {
    Words words = arguments_of(folder);
    words.emplace_back("--resume");
    int kills = 0;
    for (int milliseconds = 60; milliseconds < 20000; milliseconds += 5) {
      const pid_t child = start(words);
      std::this_thread::sleep_for(
          std::chrono::milliseconds(10 + random() % static_cast<unsigned>(milliseconds)));
      ::kill(child, SIGKILL);
      const int status = wait_for(child);
      if (status == 0) return kills;
      EXPECT_EQ(status, -SIGKILL) << last_line();
      ++kills;
      if (!std::filesystem::exists(scratch_ / folder)) continue;
      for (const auto& path : list_checkpoints(scratch_ / folder))
        EXPECT_NO_THROW(read_state(path)) << path;
    }
    return kills;
  }
};

// $HEED_KILLS: how many at least; a disk is then full at each write.
TEST_P(KilledTask, GoesOnToTheSameLosses) {
  const char* const asked = std::getenv("HEED_KILLS");
  const int wanted = asked != nullptr ? std::atoi(asked) : 3;
  ASSERT_EQ(run(arguments_of("whole")), 0) << last_line();
  std::mt19937 random(20);
  int kills = 0;
  for (int round = 0; kills < wanted && round < 100; ++round) {
    kills += kill_until_done("killed", random);
    EXPECT_EQ(test::loss_rows(scratch_ / "killed"), test::loss_rows(scratch_ / "whole"));
    EXPECT_EQ(read_file(scratch_ / "killed/model/model.safetensors"),
              read_file(scratch_ / "whole/model/model.safetensors"));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_ / "killed"))
      EXPECT_EQ(entry.path().string().find(".partial-"), std::string::npos) << entry.path();
    std::filesystem::remove_all(scratch_ / "killed");
  }
  EXPECT_GE(kills, wanted);
  RecordProperty("kills", kills);
}

INSTANTIATE_TEST_SUITE_P(, KilledTask, testing::ValuesIn(kRuns),
                         [](const auto& run) { return std::string(run.param.name); });

// A preloaded library refuses every write after a given number, like a full disk.
class FullDisk : public KilledTask {
 protected:
  Words few_steps(const std::string& folder) const {
    Words words = arguments_of(folder);
    words.emplace_back("--resume");
    *(std::ranges::find(words, "--steps") + 1) = "6";
    *(std::ranges::find(words, "--evaluate-every") + 1) = "3";
    *(std::ranges::find(words, "--checkpoint-every") + 1) = "2";
    return words;
  }
  int run_with_writes(const Words& words, int writes) const {
    return run(words, {"LD_PRELOAD=" HEED_BINARY_DIR "/tests/libfull_disk.so",
                       fmt::format("FULL_DISK_AFTER={}", writes)});
  }
};

TEST_P(FullDisk, AtAnyWriteIsOneLineAndTheRunGoesOn) {
  if (!std::filesystem::exists(HEED_BINARY_DIR "/tests/libfull_disk.so"))
    GTEST_SKIP() << "no library goes in front of the system's under sanitizers";
  ASSERT_EQ(run(few_steps("whole")), 0) << last_line();
  constexpr int kSome = 29;  // writes from one try to the next, where not all are asked for
  const int step = std::getenv("HEED_KILLS") != nullptr ? 1 : kSome;
  int refused = 0;
  for (int writes = 0, status = 1; status != 0; writes += step) {
    const std::string folder = fmt::format("full{}", writes);
    status = run_with_writes(few_steps(folder), writes);
    if (status != 0) {
      ++refused;
      ASSERT_EQ(status, 1) << last_line();
      EXPECT_NE(last_line().find("cannot be written: No space left on device"), std::string::npos)
          << writes << ": " << last_line();
      EXPECT_EQ(last_line().find("heed train: "), 0U) << last_line();
      ASSERT_EQ(run(few_steps(folder)), 0) << writes << ": " << last_line();
    }
    EXPECT_EQ(test::loss_rows(scratch_ / folder), test::loss_rows(scratch_ / "whole")) << writes;
    std::filesystem::remove_all(scratch_ / folder);
    ASSERT_LT(writes, 2000);
  }
  EXPECT_GE(refused, 4);
}

INSTANTIATE_TEST_SUITE_P(, FullDisk, testing::Values(kRuns[0], kRuns[2], kRuns[6]),
                         [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace heed
