// The progress that a long command shows.
#include "cli/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "heed/tensor.h"
#include "support/places.h"

namespace heed::cli {
namespace {

TEST(Progress, TellsCountRateAndTimeLeft) {
  EXPECT_EQ(progress_text("cases", 5, 12, 2.5), "cases 5/12  2/s  4 s left");
  EXPECT_EQ(progress_text("cases", 1, 401, 30), "cases 1/401  0.0333/s  3 h 20 min left");
}

TEST(Progress, TellsTheTimeWhereNothingCanBeCounted) {
  EXPECT_EQ(progress_text("attention", 0, 0, 187), "attention  3 min 07 s");
  EXPECT_EQ(progress_text("cases", 0, 12, 3), "cases 0/12  3 s");
}

// Runs the program on a terminal of its own, which `script` gives it, and returns all that it
// writes. With HEED_PROGRESS=0 each step is shown, however fast the machine is.
std::string on_a_terminal(const std::string& arguments) {
  const std::string out = test::in_scratch("terminal");
  const std::string command = HEED_BINARY_DIR "/heed " + arguments;
  const std::string line = "HEED_PROGRESS=0 script -qec '" + command + "' /dev/null >" + out;
  EXPECT_EQ(std::system(line.c_str()), 0);
  return test::content(out);
}

class ProgressOnATerminal : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "no `script`";
  }
};

TEST(Progress, IsSilentElsewhere) {
  const test::Answer answer =
      test::heed({"bench", "attention", "--case", "plain-n64-d64", "plain-n256-d64"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error.find('\r'), std::string::npos);
}

TEST_F(ProgressOnATerminal, GoesAwayForARowAndAtTheEnd) {
  const std::string shown =
      on_a_terminal("bench attention --threads 1 --case plain-n16-d64 causal-n16-d64");
  EXPECT_THAT(shown, testing::ContainsRegex("\rtiming plain-n16-d64 0/2  0 s"));
  EXPECT_THAT(shown, testing::ContainsRegex("\rtiming causal-n16-d64 1/2  [0-9.]+/s  [^\r]* left"));
  const std::size_t last = shown.rfind("\rtiming ");
  EXPECT_NE(shown.find("\r\x1b[K", last), std::string::npos) << shown;
}

TEST_F(ProgressOnATerminal, OfALookCountsLayers) {
  const std::string shown = on_a_terminal("look aaa --rows 1 --model " + test::tiny_model());
  EXPECT_THAT(shown, testing::ContainsRegex("\rthe model: layers 1/2  [0-9.e+]+/s  [^\r]* left"));
  EXPECT_THAT(shown, testing::HasSubstr("\r\x1b[K"));
}

TEST_F(ProgressOnATerminal, OfAttendTellsTheTime) {
  const std::string array = test::in_scratch("array.npy");
  write_npy(array, Tensor::zeros({1, 2, 8, 4}));
  const std::string shown = on_a_terminal("attend " + array + " " + array + " " + array + " -o " +
                                          test::in_scratch("out.npy"));
  EXPECT_THAT(shown, testing::ContainsRegex("\rattention  [0-9]+ s"));
}

TEST_F(ProgressOnATerminal, OfABenchmarkNamesTheCase) {
  const std::string shown = on_a_terminal("bench attention --case plain-n16-d64 --threads 1");
  EXPECT_THAT(shown, testing::ContainsRegex("\rtiming plain-n16-d64  [0-9]+ s"));
}

TEST_F(ProgressOnATerminal, OfGenerationCountsTokens) {
  const std::string shown =
      on_a_terminal("generate aaa --json -n 5 --threads 1 --model " + test::tiny_model());
  EXPECT_THAT(shown, testing::ContainsRegex("\rtokens 2/5  [0-9.e+]+/s  [^\r]* left"));
}

TEST_F(ProgressOnATerminal, SecondsThatAreNoneAreRefused) {
  setenv("HEED_PROGRESS", "soon", 1);
  const test::Answer answer = test::heed({"bench", "attention", "--case", "plain-n16-d64"});
  unsetenv("HEED_PROGRESS");
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed bench: HEED_PROGRESS is 'soon', expected seconds from 0 to 1e6\n");
}

}  // namespace
}  // namespace heed::cli
