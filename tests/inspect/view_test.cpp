// The address of a view: what it says, and what it may not say.
#include "heed/inspect/view.h"

#include <gtest/gtest.h>

#include "inspect/heads/statistics.h"
#include "support/expect_error.h"

namespace heed {
namespace {

constexpr ErrorCode kBad = ErrorCode::kInvalidArgument;

TEST(View, ReadsLayerHeadsAndTokens) {
  const ViewAddress view = parse_view("#look/L2.H4+H1/i=17/j=3");
  EXPECT_EQ(view.layer, 2);
  EXPECT_EQ(view.heads, (std::vector<int>{4, 1}));
  EXPECT_EQ(view.query, 17);
  EXPECT_EQ(view.key, 3);
}

TEST(View, IsWrittenAsItWasRead) {
  for (const char* address :
       {"look/L0.H0", "look/L2.H4+H1/i=17/j=3", "look/L1.H3/range=2-9/to=1/units=word/scale=rank",
        "look/L1.H3/i=4/scores=sink+entropy"})
    EXPECT_EQ(format_view(parse_view(address)), address);
}

TEST(View, TellsWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"grid/L0.H0", "view: \"grid\" does not exist, expected look as in look/L2.H4/i=17/j=3"},
      {"look", "view: it names no head, expected look/L2.H4/i=17/j=3"},
      {"look/H4", "view: found \"H4\" as layer and head, expected L2.H4 as in look/L2.H4/i=17/j=3"},
      {"look/L2.H4+3", "view: found \"L2.H4+3\" as layer and head, expected L2.H4 or L2.H4+H1"},
      {"look/L2.Hx", "view: found \"x\" in \"L2.Hx\", expected a number from 0"},
      {"look/L2.H4/i=-1", "view: found \"-1\" in \"i=-1\", expected a number from 0"},
      {"look/L2.H4/j=3", "view: j= needs i= beside it: whose weight on token 3?"},
      {"look/L2.H4/range=9-2",
       "view: found \"range=9-2\", expected the first token before the last"},
      {"look/L2.H4/scale=pink", "view: found \"scale=pink\", expected scale=linear|sqrt|log|rank"},
      {"look/L2.H4/units=sentences",
       "view: found \"units=sentences\", expected units=token|word|sentence"},
      {"look/L2.H4/to=5", "view: found \"to=5\", expected to=0|1"},
      {"look/L2.H4/units=", "view: found \"units=\", expected units=token|word|sentence"},
      {"look/L2.H4/scores=sink",
       "view: found \"scores=sink\", expected two names as in previous+distance"},
      {"look/L2.H4/what=ever",
       "view: found \"what=ever\", expected i=, j=, range=, to=, units=, scale= or scores="}};
  for (const auto& [address, message] : cases)
    EXPECT_HEED_ERROR(parse_view(address), kBad, message);
}

TEST(View, MustFitTheModelAndTheText) {
  ModelInfo info;
  info.layers = 2;
  info.heads = 4;
  const auto check = [&](const char* address) {
    check_view(parse_view(address), "tiny", info, 10);
  };
  check("look/L1.H3/i=9/j=9");
  EXPECT_HEED_ERROR(check("look/L2.H0"), kBad,
                    "view: layer 2 does not exist, tiny has layers 0 to 1");
  EXPECT_HEED_ERROR(check("look/L1.H0+H4"), kBad,
                    "view: head 4 does not exist, tiny has heads 0 to 3");
  EXPECT_HEED_ERROR(check("look/L1.H0/i=10"), kBad,
                    "view: i 10 is beyond the text, which has tokens 0 to 9");
  EXPECT_HEED_ERROR(check("look/L1.H0/range=3-12"), kBad,
                    "view: range 12 is beyond the text, which has tokens 0 to 9");
}

TEST(View, MayNameTheScoresThatTheModelHas) {
  for (const bool causal : {true, false}) {
    ModelInfo info;
    info.layers = info.heads = 1;
    info.causal = causal;
    for (const server::ScoreName& score : server::score_names(causal))
      check_view(parse_view(fmt::format("look/L0.H0/scores={}+sink", score.name)), "tiny", info, 1);
    const std::string known = "previous|current|sink|distance|entropy|elsewhere";
    EXPECT_HEED_ERROR(check_view(parse_view("look/L0.H0/scores=sink+nose"), "tiny", info, 1), kBad,
                      fmt::format("view: \"nose\" in \"scores=sink+nose\" is no score, expected {}",
                                  causal ? known : known + "|next"));
  }
}

}  // namespace
}  // namespace heed
