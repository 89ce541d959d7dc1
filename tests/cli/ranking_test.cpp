#include "cli/look/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cli/program.h"
#include "cli/terminal/progress.h"
#include "heed/look.h"
#include "support/expect_error.h"
#include "support/family_sessions.h"

namespace heed::cli {
namespace {

Ranking ranked(const std::string& filter) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  ProgressLine progress;
  return rank_heads(session, model, Stack::kSelf, parse_head_filter(filter), progress);
}

TEST(Ranking, IsByTheFirstScoreThatTheFilterNamesLargestFirst) {
  const Ranking ranking = ranked("current>0 layer 1-2");
  ASSERT_EQ(ranking.heads.size(), 4U);
  EXPECT_EQ(ranking.of, 6U);
  for (std::size_t at = 1; at < ranking.heads.size(); ++at)
    EXPECT_GE(ranking.heads[at - 1].of("current"), ranking.heads[at].of("current"));
  for (const HeadScores& head : ranking.heads) EXPECT_GE(head.place.layer, 1);
}

TEST(Ranking, ComputesScoresThatTakePassesWhereTheFilterNamesThem) {
  EXPECT_TRUE(std::isnan(ranked("").heads.front().of("without")));
  const Ranking ranking = ranked("without>-100");
  ASSERT_EQ(ranking.heads.size(), 6U);
  EXPECT_FALSE(std::isnan(ranking.heads.front().of("without")));
}

TEST(Ranking, SaysHowManyReachTheThresholdAndWhoIsNext) {
  const std::string text = ranking_text({.width = 100}, ranked(""));
  EXPECT_NE(text.find("6 of 6; by previous: mean weight on the token before"), std::string::npos)
      << text;
  EXPECT_NE(text.find("threshold .40, reached by"), std::string::npos) << text;
  EXPECT_NE(text.find("; induc: mean weight on what followed the same token elsewhere"),
            std::string::npos)
      << text;
}

TEST(Ranking, LeavesOutTheThresholdWhereTheFilterHasOne) {
  EXPECT_EQ(ranking_text({.width = 100}, ranked("previous>-1")).find("threshold"),
            std::string::npos);
  EXPECT_NE(ranking_text({.width = 100}, ranked("layer 1")).find("threshold .40, reached by"),
            std::string::npos);
}

TEST(Ranking, OfNoHeadListsTheNearest) {
  const Ranking ranking = ranked("previous>2 layer 1");
  EXPECT_TRUE(ranking.heads.empty());
  ASSERT_EQ(ranking.nearest.size(), 3U);
  EXPECT_EQ(ranking.nearest[0].place.layer, 1);
  EXPECT_EQ(ranking.nearest[1].place.layer, 1);
  EXPECT_GE(ranking.nearest[0].of("previous"), ranking.nearest[1].of("previous"));
  const std::string text = ranking_text({.width = 100}, ranking);
  EXPECT_NE(text.find("0 of 6 pass previous>2"), std::string::npos) << text;
  EXPECT_NE(text.find("the nearest heads\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("threshold"), std::string::npos);
}

constexpr StackShape kSixByFour = {.stack = Stack::kSelf, .layers = 6, .heads = 4, .causal = true};

TEST(Ranking, OfAWrongFilterSaysHowOneIsWrittenAndWhichScoresThereAre) {
  const auto refused = [](const char* filter) -> std::string {
    try {
      ranking_filter(filter, "tiny", kSixByFour);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string scores =
      "previous, current, sink, distance, entropy, elsewhere, normalised_entropy, confidence, "
      "local, duplicate, induction, delimiter, same_word, value_weighted, value_sink, "
      "probe_induction, probe_duplicate, without, direct";
  EXPECT_EQ(refused("sink"),
            "--heads \"sink\": the end at character 5, expected >, >=, < or <=; terms such as "
            "\"sink>0.4\", \"layer 2\" and \"head 0-3\", or all; scores of tiny: " +
                scores);
  EXPECT_EQ(refused("next>0.1"), "--heads \"next>0.1\": \"next>0.1\" at character 1, expected " +
                                     scores + ", layer or head");
  const test::Answer none = test::heed({"look", "a", "--heads"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.error, "heed look: --heads is given no value, expected " + filter_forms() + "\n");
}

TEST(Ranking, RefusesALayerOrAHeadThatTheModelDoesNotHave) {
  EXPECT_HEED_ERROR(ranking_filter("layer 7", "tiny", kSixByFour), ErrorCode::kNotFound,
                    "--heads \"layer 7\": layer is 7, expected 0 to 5 (tiny has 6 layers)");
  EXPECT_HEED_ERROR(ranking_filter("sink>0 head 4-9", "tiny", kSixByFour), ErrorCode::kNotFound,
                    "--heads \"sink>0 head 4-9\": head is 4, expected 0 to 3 (tiny has 4 heads)");
  EXPECT_EQ(ranking_filter("layer 4-8", "tiny", kSixByFour).terms.size(), 1U);
}

TEST(Ranking, AsJsonIsAListOfHeads) {
  const std::string printed = ranking_json(ranked("previous>-1"), true);
  EXPECT_NE(printed.find("\"by\": \"previous\""), std::string::npos) << printed;
  EXPECT_NE(printed.find("\"normalised_entropy\""), std::string::npos);
}

}  // namespace
}  // namespace heed::cli
