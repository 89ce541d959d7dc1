// heed explain as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace heed::cli {
namespace {

using test::Answer;

nlohmann::json forward_plan(const char* shape, std::vector<std::string> more) {
  more.insert(more.begin(), {"explain", "--json", "--shape", shape});
  const Answer answer = test::heed(more);
  EXPECT_EQ(answer.status, 0) << answer.error;
  return nlohmann::json::parse(answer.out)["forward"];
}

TEST(ExplainCommand, CountsTheWorkOfAllowedPairs) {
  const auto plan = forward_plan("1,4,2,16,16,8,4", {"--causal", "bottom-right"});
  EXPECT_EQ(plan["allowed_pairs"], 4 * 16 * 17 / 2);
  EXPECT_EQ(plan["flop"], 2.0 * (8 + 4) * 4 * 16 * 17 / 2);
  EXPECT_EQ(plan["alignment"], "bottom-right");
}

TEST(ExplainCommand, CountsLongTextsWithoutWalkingThroughThem) {
  const std::int64_t n = 10'000'019;  // not a multiple of a tile
  const auto plan = forward_plan("1,1,1,10000019,10000019,64,64", {"--causal", "bottom-right"});
  EXPECT_EQ(plan["allowed_pairs"], n * (n + 1) / 2);
  const auto all = forward_plan("1,1,1,1073741824,1073741824,64,64", {});
  EXPECT_EQ(all["allowed_pairs"], std::int64_t{1} << 60);
}

TEST(ExplainCommand, AWindowIsCountedRowByRow) {
  const auto plan = forward_plan("1,2,2,1000,1300,8,8", {"--window", "99,0"});
  EXPECT_EQ(plan["allowed_pairs"], 2 * 1000 * 100);
}

TEST(ExplainCommand, AShapeThatCannotBeCountedIsRefused) {
  const auto refused = [](const char* shape, const std::string& message) {
    const Answer answer = test::heed({"explain", "--shape", shape});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed explain: " + message + "\n");
    EXPECT_EQ(answer.out, "");
  };
  refused("1,8,8,-5,16,8,8", "--shape: Tq is -5, expected at least 0");
  refused("1,8,8,4294967296,4294967296,8,8",
          "--shape: there are 2.95e+20 pairs of query and key, expected below 2^62");
  refused("1,1,1,9223372036854775807,1,8,8",
          "--shape: there are 1.84e+19 pairs of query and key, expected below 2^62");
  refused("1,1,1,1,1,9223372036854775807,8",
          "--shape: the arrays have 2.95e+20 bytes, expected below 2^62");
  refused("1,8,8,16,16,8", "--shape: found too few values, expected B,H,G,Tq,Tk,D,Dv");
  refused("1,8,8,16,16,8,99999999999999999999",
          "--shape: found \"99999999999999999999\", expected a whole number of at most "
          "9223372036854775807");
}

}  // namespace
}  // namespace heed::cli
