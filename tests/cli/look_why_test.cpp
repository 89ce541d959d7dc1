// heed look --why: one weight explained, as text and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::kText;
using testing::HasSubstr;

Answer why(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"look", kText, "--why"});
  arguments.insert(arguments.end(), {"--model", test::tiny_model()});
  return test::heed(arguments);
}

TEST(LookWhy, ExplainsTheWeightOfTwoWords) {
  const Answer answer = why({"--who", "tired", "--to", "mat"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  for (const char* part : {"Why ", "The sum", "score", "By dimension", "Competing keys", "residual",
                           "Effect of its value", "Without it"})
    EXPECT_THAT(answer.out, HasSubstr(part));
}

TEST(LookWhy, SaysWhyTheHeadWasChosenUnlessItWasNamed) {
  const std::string_view said = "  heed chose this head: it gives this edge the largest weight, 0.";
  EXPECT_THAT(why({"--who", "tired", "--to", "mat"}).out, HasSubstr(said));
  EXPECT_THAT(why({"--who", "tired", "--to", "mat", "--head", "L0.H1"}).out,
              testing::Not(HasSubstr("heed chose")));
}

TEST(LookWhy, ItsTermsSumToTheScore) {
  const Answer answer = why({"--who", "tired", "--to", "mat", "--format", "json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json found = json::parse(answer.out);
  double sum = 0;
  for (const json& term : found["sum"]["terms"]) sum += term["value"].get<double>();
  EXPECT_NEAR(sum, found["score"].get<double>(), 1e-4);
}

TEST(LookWhy, TheOthersAreAllKeysThatItDoesNotName) {
  const std::vector<std::string> story = {
      "look",  "--file",  HEED_SOURCE_DIR "/examples/story.txt", "--who", "he", "--to", "king",
      "--why", "--model", HEED_SOURCE_DIR "/models/tales"};
  const Answer text = test::heed(story);
  ASSERT_EQ(text.status, 0) << text.error;
  EXPECT_THAT(text.out, HasSubstr("row log-sum-exp, 17 keys"));
  EXPECT_THAT(text.out, HasSubstr("11 others"));  // of 17 keys six are named
}

TEST(LookWhy, NeedsBothWordsAndNothingThatShowsMore) {
  EXPECT_THAT(why({"--who", "tired"}).error, HasSubstr("--why needs --who and --to"));
  EXPECT_EQ(why({"--who", "tired"}).status, 2);
  EXPECT_THAT(why({"--who", "tired", "--to", "mat", "--flow"}).error,
              HasSubstr("--flow cannot be used with --why"));
  EXPECT_EQ(why({"--who", "tired", "--to", "mat", "--format", "tsv"}).status, 2);
}

}  // namespace
}  // namespace heed::cli
