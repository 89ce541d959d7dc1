// Why, tests of an edge, and sessions derived from others, over HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::got;
using test::Opened;
using test::path_of;
using test::Served;

json derived(Opened& opened, const json& edits, int status) {
  const auto answer = opened.client.Post(opened.path + "/derive", edits.dump(), "application/json");
  EXPECT_EQ(answer->status, status) << answer->body;
  return json::parse(answer->body);
}

TEST(ServerWhy, SaysTheScoreAsASumThatGivesTheWeight) {
  Opened opened(test::kServedText, /*statistics=*/true);
  const std::string head = "/self/1/2";
  const json why = opened.get(head + "/why/3/1");
  const json cell = opened.get(head + "/cell/3/1");
  EXPECT_NEAR(why["weight"].get<double>(), cell["weight"].get<double>(), 1e-6);
  EXPECT_NEAR(std::exp(why["sum"]["sum"].get<double>() - why["lse"].get<double>()),
              why["weight"].get<double>(), 1e-5);
  EXPECT_LT(std::abs(why["sum"]["residual"].get<double>()), 1e-4);
  const json origins = opened.get(head + "/why/3/1/origins");
  EXPECT_EQ(origins["against"], "mean");
  EXPECT_LT(std::abs(origins["residual"].get<double>()), 1e-4);
  const json split = opened.get(head + "/why/3/1/origins?against=raw&split=attn%200");
  EXPECT_GT(split["query_parts"].size(), origins["query_parts"].size());
  EXPECT_EQ(opened.get(head + "/why/3/99", 404)["error"]["argument"], "key");
  EXPECT_EQ(opened.get(head + "/why/3/1/origins?against=x", 400)["error"]["argument"], "against");
  EXPECT_EQ(opened.get(head + "/why/3/1/test?edit=swap", 400)["error"]["argument"], "id");
}

TEST(ServerWhy, SaysARowByDimensionAndInAPlane) {
  Opened opened(test::kServedText, /*statistics=*/true);
  const std::string head = "/self/1/2";
  const json row = opened.get(head + "/dimensions/9?most=2&key=0");
  EXPECT_LE(row["keys"].size(), 3);
  for (const json& key : row["keys"]) {
    const json why = opened.get(head + "/why/9/" + key["key"].dump());
    EXPECT_NEAR(key["weight"].get<double>(), why["weight"].get<double>(), 1e-6);
    EXPECT_NEAR(key["product"].get<double>(), why["raw"]["sum"].get<double>(), 1e-6);
  }
  const json plane = opened.get(head + "/geometry/9");
  EXPECT_EQ(plane["keys"].size(), 10);
  EXPECT_FALSE(plane["turned"].get<bool>());
  EXPECT_EQ(plane["keys"], opened.get(head + "/geometry/9?rotation=before")["keys"]);
  EXPECT_EQ(opened.get(head + "/dimensions/99", 404)["error"]["argument"], "query");
  EXPECT_EQ(opened.get(head + "/dimensions/9?key=99", 404)["error"]["argument"], "key");
  EXPECT_EQ(opened.get(head + "/dimensions/9?most=65", 400)["error"]["argument"], "most");
  EXPECT_EQ(opened.get(head + "/geometry/9?rotation=x", 400)["error"]["argument"], "rotation");
}

TEST(ServerDerive, SaysWhichHeadsAnEditChangesMost) {
  Opened opened(test::kServedText, /*statistics=*/true);
  const json edits = {{"ablate", {{{"layer", 0}, {"head", 1}}}}};
  const json edited = Served::wait_for(opened.client, derived(opened, edits, 201), 0);
  const std::string id = opened.session["session"];
  const json changes = got(opened.client, path_of(edited) + "/self/changes?from=" + id);
  EXPECT_EQ(changes["rows"], edited["tokens"].size());
  double before = 1;
  for (const json& head : changes["heads"]) {
    const double change = head["change"];
    EXPECT_LE(change, before) << "the most changed head is first";
    if (head["layer"] == 0)
      EXPECT_EQ(change, 0) << "nothing that the first layer reads has changed";
    else
      EXPECT_GT(change, 0) << head;
    before = change;
  }
  EXPECT_EQ(opened.get("/self/changes?from=" + id)["heads"][0]["change"], 0);
  const std::string other = opened.served.open("a king", /*statistics=*/true)["session"];
  EXPECT_EQ(opened.get("/self/changes?from=" + other, 400)["error"]["argument"], "from");
  opened.get("/self/changes?from=none", 404);
}

// Adds the row's weights on [begin, end); a masked one is null.
double weight_on(const json& row, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t key = begin; key < end; ++key)
    sum += row[key].is_null() ? 0 : row[key].get<double>();
  return sum;
}

std::vector<json> rows_of(httplib::Client& client, const json& session) {
  std::vector<json> rows;
  for (std::size_t query = 0; query < session["tokens"].size(); ++query)
    rows.push_back(
        got(client, fmt::format("{}/self/1/2/row/{}", path_of(session), query))["weights"]);
  return rows;
}

// The mean over aligned rows of the weight that moves to other keys.
double weight_moved(const json& pairs, const std::vector<json>& a, const std::vector<json>& b) {
  double moved = 0;
  for (const json& rows : pairs) {
    double alone = 2;  // both rows sum to 1
    for (const json& keys : pairs) {
      const double in_a = weight_on(a[rows[1].get<std::size_t>() - 1], keys[0], keys[1]);
      const double in_b = weight_on(b[rows[3].get<std::size_t>() - 1], keys[2], keys[3]);
      moved += std::abs(in_a - in_b) / 2;
      alone -= in_a + in_b;
    }
    moved += alone / 2;
  }
  return moved / static_cast<double>(pairs.size());
}

TEST(ServerChanges, TextsOfTwoLengthsAreComparedByTheirAlignedTokens) {
  const Served served;
  httplib::Client client = served.client();
  const json a = served.open("the cat sat on the mat", /*statistics=*/true);
  const json b = served.open("the tosp sat on the mat", /*statistics=*/true);
  ASSERT_NE(a["tokens"].size(), b["tokens"].size());
  const std::string beside = path_of(b);
  const std::string from = "?from=" + a["session"].get<std::string>();
  const json alignment = got(client, beside + "/alignment" + from);
  EXPECT_THAT(alignment["said"].get<std::string>(),
              testing::MatchesRegex("“cat” is . and “tosp” . tokens: they are compared as words"));
  const json changes = got(client, beside + "/self/changes" + from);
  EXPECT_EQ(changes["rows"], alignment["pairs"].size());
  const auto head = std::ranges::find_if(
      changes["heads"], [](const json& each) { return each["layer"] == 1 && each["head"] == 2; });
  const double moved = weight_moved(alignment["pairs"], rows_of(client, a), rows_of(client, b));
  EXPECT_NEAR((*head)["change"].get<double>(), moved, 1e-5);
  EXPECT_GT(moved, 0);
}

TEST(ServerDerive, MakesASessionBesideTheOldOne) {
  Opened opened(test::kServedText, /*statistics=*/true);
  const json edits = {{"ablate", {{{"layer", 0}, {"head", 1}}}}};
  const json first = derived(opened, edits, 201);
  EXPECT_EQ(first["edits"], "ablate=self.L0.H1");
  EXPECT_EQ(first["derived_from"], opened.session["session"]);
  EXPECT_NE(first["session"], opened.session["session"]);
  EXPECT_EQ(derived(opened, edits, 200)["session"], first["session"]);
  const json posted = {{"text", test::kServedText}, {"edits", edits}};
  const auto again = opened.client.Post("/api/v1/sessions", posted.dump(), "application/json");
  EXPECT_EQ(again->status, 200) << again->body;
  EXPECT_EQ(json::parse(again->body)["session"], first["session"]);
}

TEST(ServerDerive, RefusesEditsByTheirField) {
  Opened opened(test::kServedText, /*statistics=*/true);
  const std::pair<json, const char*> wrong[] = {
      {json::object(), "edits"},
      {{{"ablat", json::array()}}, "edits.ablat"},
      {{{"ablate", 3}}, "ablate"},
      {{{"ablate", {3}}}, "ablate[0]"},
      {{{"ablate", {{{"layer", 0}}}}}, "ablate[0].head"},
      {{{"ablate", {{{"layer", 0}, {"head", 0}, {"stack", "x"}}}}}, "ablate[0].stack"},
      {{{"hide", {{{"position", 0}, {"side", "left"}}}}}, "hide[0].side"},
      {{{"swap", {{{"position", 0}}}}}, "swap[0]"},
      {{{"mask", {{{"left", -2}}}}}, "left"},
  };
  for (const auto& [edits, argument] : wrong)
    EXPECT_EQ(derived(opened, edits, 400)["error"]["argument"], argument);
  json all = {{"hide", json::array()}};
  const json session = opened.get("");
  for (std::size_t at = 0; at < session["tokens"].size(); ++at)
    all["hide"].push_back({{"position", at}});
  EXPECT_EQ(derived(opened, all, 400)["error"]["argument"], "hide");
  const json missing = {{"ablate", {{{"layer", 99}, {"head", 0}}}}};
  EXPECT_EQ(derived(opened, missing, 404)["error"]["argument"], "layer");
}

TEST(ServerDerive, ASwapNeedsASingleToken) {
  Opened opened(test::kServedText, /*statistics=*/true);
  const json long_text = {{"swap", {{{"position", 0}, {"text", "the cat sat on the mat"}}}}};
  EXPECT_THAT(
      derived(opened, long_text, 400)["error"]["message"].get<std::string>(),
      testing::ContainsRegex("\"the cat sat on the mat\" is [0-9]+ tokens .*; a swap needs a "
                             "single token"));
}

}  // namespace
}  // namespace heed
