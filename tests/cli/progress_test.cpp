// What a long command says of how far it is.
#include "cli/progress.h"

#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/tiny_model.h"

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

// `script` gives the program a terminal; its stdout and stderr are one there.
TEST(Progress, StandsOnATerminalAfterTwoSecondsAndGoesAway) {
  const std::string out = test::in_scratch("terminal");
  const std::string bench = HEED_BINARY_DIR
      "/heed bench attention --threads 1 --case plain-n64-d64 plain-n4096-d64 "
      "causal-n4096-d64 grouped-n4096-d64 plain-n4096-d128 causal-n4096-d128 "
      "grouped-n4096-d128";  // some seconds on a fast machine, too
  if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "no `script`";
  ASSERT_EQ(std::system(("script -qec '" + bench + "' /dev/null > " + out).c_str()), 0);
  const std::string shown = test::content(out);
  const std::size_t at = shown.find("\rcases ");
  ASSERT_NE(at, std::string::npos) << shown;
  EXPECT_NE(shown.find("/7  ", at), std::string::npos) << shown;
  EXPECT_NE(shown.find("\r\x1b[K", at), std::string::npos) << shown;
}

TEST(Progress, IsSilentElsewhere) {
  const test::Answer answer =
      test::heed({"bench", "attention", "--case", "plain-n64-d64", "plain-n256-d64"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error, "");
}

}  // namespace
}  // namespace heed::cli
