// Properties common to all commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/program.h"
#include "cli/tiny_model.h"
#include "support/places.h"

namespace heed::cli {
namespace {

using test::Answer;

TEST(Program, SaysItsVersion) {
  const Answer answer = test::heed({"--version"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, testing::MatchesRegex("heed [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, PrintsTheLicencesOfWhatItHolds) {
  const Answer answer = test::heed({"--licences"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, test::content(HEED_SOURCE_DIR "/THIRD_PARTY.md"));
}

TEST(Program, RefusesACommandThatItDoesNotHave) {
  const Answer answer = test::heed({"lok"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(
      answer.error,
      testing::StartsWith("heed: unknown command \"lok\", the nearest is look; commands: look, "
                          "serve, "));
  EXPECT_EQ(answer.out, "");
}

TEST(Program, HintsAtTheVersionAndAtLook) {
  for (const char* word : {"version", "-v"})
    EXPECT_THAT(test::heed({word}).error, testing::HasSubstr(", try heed --version; commands: "));
  EXPECT_THAT(test::heed({"The king had"}).error,
              testing::StartsWith("heed: unknown command \"The king had\"; to look at a text: "
                                  "heed look \"The king had\"; commands: "));
}

TEST(Program, NamesTheFileThatItWrote) {
  const std::string file = test::in_scratch("named.json");
  const Answer answer = test::heed({"look", "the cat", "-o", file, "--model", test::tiny_model()});
  EXPECT_EQ(answer.error, "heed: wrote " + file + "\n");
  EXPECT_EQ(answer.out, "");
}

TEST(Program, JsonIsShortForFormatJson) {
  const std::vector<std::vector<std::string>> commands = {
      {"look", "the cat", "--model", test::tiny_model()},
      {"generate", "the cat", "-n", "1", "--model", test::tiny_model()},
      {"tokenize", "the cat", "--model", test::tiny_model()},
      {"explain", "--shape", "1,2,2,4,4,4,4"},
      {"models"}};
  for (std::vector<std::string> command : commands) {
    command.emplace_back("--json");
    const Answer brief = test::heed(command);
    command.back() = "--format=json";
    EXPECT_EQ(brief.out, test::heed(command).out) << command[0];
    EXPECT_THAT(brief.out, testing::AnyOf(testing::StartsWith("{"), testing::StartsWith("[")));
    EXPECT_EQ(brief.error, "") << command[0];
  }
  EXPECT_EQ(test::heed({"look", "the cat", "--json=x"}).error,
            "heed look: --json is given a value, expected none\n");
}

TEST(Program, EveryCommandHasHelpWithAnExample) {
  for (const Command& command : commands()) {
    const Answer answer = test::heed({command.name, "--help"});
    EXPECT_EQ(answer.status, 0) << command.name;
    EXPECT_THAT(answer.out, testing::HasSubstr(std::string("Examples:\n  heed ") + command.name));
  }
}

TEST(Program, BadArgumentsAreOneLineAndStatusTwo) {
  for (const Command& command : commands()) {
    const Answer answer = test::heed({command.name, "--no-such-option"});
    EXPECT_EQ(answer.status, 2) << command.name;
    EXPECT_THAT(answer.error, testing::MatchesRegex("heed [a-z]+: [^\n]+\n"));
  }
}

TEST(Program, ReportsAFullDisk) {
  const Answer answer = test::heed({"--help"}, "> /dev/full");
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.error, "heed: standard output: No space left on device\n");
}

TEST(Program, AFileOverTheLimitIsAnErrorAndLeavesNothing) {
  const std::string folder = (test::scratch() / "limited").string();
  const std::string trains = HEED_BINARY_DIR "/heed train --data " + folder +
                             "/text --steps 1 --batch 1 --block 8 --evaluate-sequences 1 -o " +
                             folder + "/run";
  const std::string command = "mkdir " + folder + " && seq 500 > " + folder +
                              "/text && (ulimit -f 64; " + trains + ") 2> " + folder + "/error";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(test::content(folder + "/error"),
              testing::HasSubstr("model.safetensors: cannot be written: File too large"));
  EXPECT_EQ(std::filesystem::exists(folder + "/run/model/model.safetensors"), false);
}

TEST(Program, EndsQuietlyWhenItsReaderDoes) {
  const Answer answer = test::heed({"--help"}, "| head -n 1");
  EXPECT_EQ(answer.error, "");
}

}  // namespace
}  // namespace heed::cli
