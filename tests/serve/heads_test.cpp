// Scores that take passes of the model, evidence, heads like an example, and the head that is shown
// first, over HTTP.
#include <fmt/format.h>

#include <string>

#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::Served;

std::string path_of(const Served& served) {
  const std::string id = served.open(test::kServedText, /*statistics=*/true)["session"];
  return "/api/v1/sessions/" + id + "/self";
}

TEST(ServerHeads, LateScoresComeOneHeadAtATimeAndStayWithTheOthers) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = path_of(served);
  const json late = json::parse(client.Get(path + "/1/2/late/run")->body);
  EXPECT_TRUE(late["without"].is_number());
  EXPECT_FALSE(late.contains("probe_induction"));
  const json heads = json::parse(client.Get(path + "/heads")->body)["layers"][1]["heads"];
  EXPECT_EQ(heads[2]["without"], late["without"]);
  EXPECT_FALSE(heads[3].contains("without"));
}

TEST(ServerHeads, EvidenceHasARowAQueryAndTheHeadItIsHeldAgainst) {
  const Served served;
  httplib::Client client = served.client();
  const json evidence =
      json::parse(client.Get(path_of(served) + "/1/2/evidence/previous?against=0,3")->body);
  EXPECT_TRUE(evidence["rows"][0].is_null());  // the first row has no token before it
  EXPECT_EQ(evidence["counted"].get<std::size_t>(), evidence["rows"].size() - 1);
  EXPECT_EQ(evidence["runner_up"]["head"], 3);
  EXPECT_EQ(evidence["worst"].size(), 3U);
}

TEST(ServerHeads, AnExampleFindsItself) {
  const Served served;
  httplib::Client client = served.client();
  const auto found =
      client.Post(path_of(served) + "/similar", R"({"layer": 1, "head": 2})", "application/json");
  const json first = json::parse(found->body)["heads"][0];
  EXPECT_EQ(first["layer"], 1);
  EXPECT_EQ(first["head"], 2);
  EXPECT_NEAR(first["overlap"].get<double>(), 1, 1e-5);
}

TEST(ServerHeads, WhatDoesNotExistIsRefused) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = path_of(served);
  expect_error(client.Get(path + "/1/2/late/text"), 404, "not_found");
  expect_error(client.Get(path + "/1/9/late/run"), 404, "not_found");
  expect_error(client.Get(path + "/1/2/evidence/nose"), 404, "not_found");
  expect_error(client.Get(path + "/1/2/evidence/previous?against=1"), 400, "bad_request");
  expect_error(client.Get(path + "/1/2/evidence/previous?against=7,0"), 404, "not_found");
  expect_error(client.Get(path + "/1/2/evidence/previous?form=cooked"), 400, "bad_request");
  const auto post = [&](const char* body) {
    return client.Post(path + "/similar", body, "application/json");
  };
  expect_error(post(R"({"layer": 1})"), 400, "bad_request");
  expect_error(post(R"({"layer": 9, "head": 0})"), 404, "not_found");
  expect_error(post(R"({"rows": [{"query": 1, "keys": ["a"]}]})"), 400, "bad_request");
  expect_error(post("[]nonsense"), 400, "bad_request");
}

// An invalid pattern is found while it is computed: the error is the answer.
TEST(ServerHeads, APatternThatIsNoneIsSaid) {
  const Served served;
  httplib::Client client = served.client();
  const auto found =
      client.Post(path_of(served) + "/similar", R"({"back": 5000})", "application/json");
  EXPECT_NE(found->body.find("pattern: back is 5000, expected 0 to"), std::string::npos)
      << found->body;
}

TEST(ServerEvents, TheChosenHeadComesWithItsEdgeAndASentence) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path =
      "/api/v1/sessions/" + served.open(test::kServedText)["session"].get<std::string>();
  const std::string events = client.Get(path + "/events")->body;
  const std::string name = "event: chosen\ndata: ";
  const std::size_t begin = events.find(name) + name.size();
  const json chosen = json::parse(events.substr(begin, events.find('\n', begin) - begin));
  const json row = json::parse(
      client
          .Get(path + fmt::format("/self/{}/{}/row/{}", chosen["layer"].get<int>(),
                                  chosen["head"].get<int>(), chosen["query"].get<int>()))
          ->body);
  for (int key = 0; key <= chosen["query"].get<int>(); ++key)
    EXPECT_LE(row["weights"][key], row["weights"][chosen["key"].get<std::size_t>()]) << key;
  EXPECT_NE(chosen["reason"].get<std::string>().find("looks back"), std::string::npos) << chosen;
}

TEST(ServerHeads, ARowThatIsNamedHasAHeadOfItsOwn) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = path_of(served);
  const json chosen = json::parse(client.Get(path + "/chosen?query=12")->body);
  EXPECT_EQ(chosen["query"], 12);
  EXPECT_NE(chosen["reason"].get<std::string>().find("from here this head"), std::string::npos)
      << chosen;
  EXPECT_TRUE(json::parse(client.Get(path + "/chosen")->body).contains("reason"));
  expect_error(client.Get(path + "/chosen?query=9999"), 404, "not_found");
}

}  // namespace
}  // namespace heed
