// Scores that take passes of the model, evidence, heads like an example, and the head that is shown
// first, over HTTP.
#include <fmt/format.h>

#include <string>

#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::Opened;

// The session's heads have their statistics.
struct ServerHeads : testing::Test {
  Opened opened{test::kServedText, /*statistics=*/true};

  httplib::Result similar(const char* body) {
    return opened.client.Post(opened.path + "/self/similar", body, "application/json");
  }
};

TEST_F(ServerHeads, LateScoresComeOneHeadAtATimeAndStayWithTheOthers) {
  const json late = opened.get("/self/1/2/late/run");
  EXPECT_TRUE(late["without"].is_number());
  EXPECT_FALSE(late.contains("probe_induction"));
  const json heads = opened.get("/self/heads")["layers"][1]["heads"];
  EXPECT_EQ(heads[2]["without"], late["without"]);
  EXPECT_FALSE(heads[3].contains("without"));
}

TEST_F(ServerHeads, EvidenceHasARowAQueryAndTheHeadItIsHeldAgainst) {
  const json evidence = opened.get("/self/1/2/evidence/previous?against=0,3");
  EXPECT_TRUE(evidence["rows"][0].is_null());  // the first row has no token before it
  EXPECT_EQ(evidence["counted"].get<std::size_t>(), evidence["rows"].size() - 1);
  EXPECT_EQ(evidence["runner_up"]["head"], 3);
  EXPECT_EQ(evidence["worst"].size(), 3U);
}

TEST_F(ServerHeads, AnExampleFindsItself) {
  const auto found = similar(R"({"layer": 1, "head": 2})");
  const json first = json::parse(found->body)["heads"][0];
  EXPECT_EQ(first["layer"], 1);
  EXPECT_EQ(first["head"], 2);
  EXPECT_NEAR(first["overlap"].get<double>(), 1, 1e-5);
}

TEST_F(ServerHeads, WhatDoesNotExistIsRefused) {
  expect_error(opened.ask("/self/1/2/late/text"), 404, "not_found");
  expect_error(opened.ask("/self/1/9/late/run"), 404, "not_found");
  expect_error(opened.ask("/self/1/2/evidence/nose"), 404, "not_found");
  expect_error(opened.ask("/self/1/2/evidence/previous?against=1"), 400, "bad_request");
  expect_error(opened.ask("/self/1/2/evidence/previous?against=7,0"), 404, "not_found");
  expect_error(opened.ask("/self/1/2/evidence/previous?form=cooked"), 400, "bad_request");
  expect_error(similar(R"({"layer": 1})"), 400, "bad_request");
  expect_error(similar(R"({"layer": 9, "head": 0})"), 404, "not_found");
  expect_error(similar(R"({"rows": [{"query": 1, "keys": ["a"]}]})"), 400, "bad_request");
  expect_error(similar("[]nonsense"), 400, "bad_request");
  expect_error(similar("{}"), 400, "bad_request");
  const auto far = similar(R"({"back": 5000})");
  expect_error(far, 400, "bad_request");
  EXPECT_NE(far->body.find("pattern: back is 5000, expected 0 to"), std::string::npos) << far->body;
}

TEST(ServerEvents, TheChosenHeadComesWithItsEdgeAndASentence) {
  Opened opened(test::kServedText);
  const std::string events = opened.ask("/events")->body;
  const std::string name = "event: chosen\ndata: ";
  const std::size_t begin = events.find(name) + name.size();
  const json chosen = json::parse(events.substr(begin, events.find('\n', begin) - begin));
  const json row = opened.get(fmt::format("/self/{}/{}/row/{}", chosen["layer"].get<int>(),
                                          chosen["head"].get<int>(), chosen["query"].get<int>()));
  for (int key = 0; key <= chosen["query"].get<int>(); ++key)
    EXPECT_LE(row["weights"][key], row["weights"][chosen["key"].get<std::size_t>()]) << key;
  EXPECT_NE(chosen["reason"].get<std::string>().find("looks back"), std::string::npos) << chosen;
}

TEST_F(ServerHeads, ARowThatIsNamedHasAHeadOfItsOwn) {
  const json chosen = opened.get("/self/chosen?query=12");
  EXPECT_EQ(chosen["query"], 12);
  EXPECT_NE(chosen["reason"].get<std::string>().find("from here this head"), std::string::npos)
      << chosen;
  EXPECT_TRUE(opened.get("/self/chosen").contains("reason"));
  expect_error(opened.ask("/self/chosen?query=9999"), 404, "not_found");
  expect_error(opened.ask("/self/chosen?key=9999"), 404, "not_found");
}

TEST_F(ServerHeads, AnEdgeOrAKeyThatIsNamedHasTheHeadWithTheLargestWeight) {
  const json chosen = opened.get("/self/chosen?query=12&key=2");
  for (const json& layer : opened.get("/self/heads")["layers"])
    for (std::size_t head = 0; head < layer["heads"].size(); ++head) {
      const json row =
          opened.get(fmt::format("/self/{}/{}/row/12", layer["layer"].get<int>(), head));
      EXPECT_LE(row["weights"][2].get<double>(), chosen["score"].get<double>() + 1e-6);
    }
  EXPECT_EQ(chosen["key"], 2);
  EXPECT_EQ(opened.get("/self/chosen?key=2")["key"], 2);
}

}  // namespace
}  // namespace heed
