// The server's answers about words and flows, and its errors.
#include <cmath>
#include <cstring>
#include <sstream>

#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;

struct WordsServer : testing::Test {
  test::Opened opened{test::kServedText};

  httplib::Result ask(const std::string& question) { return opened.ask("/self" + question); }
  json get(const std::string& question) { return opened.get("/self" + question); }

  std::vector<json> lines(const std::string& question) {
    const auto answer = ask(question);
    EXPECT_TRUE(answer);
    std::istringstream body(answer ? answer->body : "");
    std::vector<json> all;
    for (std::string line; std::getline(body, line);) all.push_back(json::parse(line));
    return all;
  }
};

TEST_F(WordsServer, LogitsAreThoseOfTheNextWords) {
  const json next = get("/next?position=3&top=20");
  const auto logits = ask("/logits?position=3");
  ASSERT_TRUE(logits);
  std::vector<float> all(logits->body.size() / sizeof(float));
  std::memcpy(all.data(), logits->body.data(), logits->body.size());
  double sum = 0;
  for (const float logit : all) sum += std::exp(static_cast<double>(logit));
  ASSERT_EQ(next["words"].size(), 20U);
  for (const json& word : next["words"]) {
    const double logit = all.at(word["id"].get<std::size_t>());
    EXPECT_NEAR(logit, word["logit"].get<double>(), 1e-5);
    EXPECT_NEAR(std::exp(logit) / sum, word["probability"].get<double>(), 1e-6);
  }
}

TEST_F(WordsServer, ABranchIsALineATokenAndOneAtItsEnd) {
  const std::vector<json> all = lines("/branch?position=4&token=30&most=5");
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all.front()["id"], 30);
  EXPECT_EQ(all.back()["tokens"], all.size() - 1);
  EXPECT_TRUE(all.back().contains("ended"));
}

TEST_F(WordsServer, TheLastLevelOfTheLensIsThePassItself) {
  const json lens = get("/lens?begin=2&end=6&at=3");
  EXPECT_EQ(lens["levels"].size(), 3U);  // the embedding and two layers
  EXPECT_LT(lens["difference"].get<double>(), 1e-6);
  const json next = get("/next?position=3&top=1");
  EXPECT_EQ(lens["levels"].back()["cells"][1]["id"], next["words"][0]["id"]);
  EXPECT_EQ(lens["levels"].back()["ranks"], json({1, 2, 3}));
  for (const std::size_t answer : {0U, 1U, 2U})
    EXPECT_NEAR(lens["levels"].back()["chances"][answer].get<double>(),
                lens["answers"][answer]["probability"].get<double>(), 1e-6);
  EXPECT_EQ(get("/lens?begin=2&end=6&blocks=1")["levels"].size(), 5U);
}

TEST_F(WordsServer, AFlowsSharesAreWhole) {
  for (const char* by : {"rollout", "effect"}) {
    const json flow = get(std::string("/flow?position=9&key=2&by=") + by);
    double sum = 0;
    for (const json& share : flow["shares"]) sum += share.get<double>();
    EXPECT_NEAR(sum, 1, 1e-6) << by;
  }
  const json effects = get("/effects?position=9");
  EXPECT_EQ(effects["hidden"].size(), 9U);
  EXPECT_EQ(get("/flow/graph?position=9")["directed"], true);
  EXPECT_NE(ask("/flow/graph?position=9&format=graphml")->body.find("<graphml"), std::string::npos);
  EXPECT_EQ(ask("/flow/graph?position=9&format=dot")->body.find("digraph"), 0U);
}

TEST_F(WordsServer, TheProgressOfAFlowComesInLinesBeforeIt) {
  const std::vector<json> all = lines("/flow?position=9&progress=1");
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t at = 0; at < 4; ++at) {
    const char* work = at < 2 ? "layers" : "edges";
    EXPECT_EQ(all[at], json({{"working", work}, {"done", at % 2 + 1}, {"of", 2}}));
  }
  EXPECT_EQ(all.back(), get("/flow?position=9"));
}

TEST_F(WordsServer, TheProgressOfATestCountsItsTokens) {
  const std::vector<json> all = lines("/effects?position=9&progress=1");
  ASSERT_EQ(all.size(), 12U);  // two layers, nine tokens
  for (std::size_t at = 2; at < 11; ++at)
    EXPECT_EQ(all[at], json({{"working", "hidden"}, {"done", at - 1}, {"of", 9}}));
  EXPECT_EQ(all.back(), get("/effects?position=9"));
}

TEST_F(WordsServer, OfManyEdgesAHundredLinesAreTold) {
  const std::vector<json> all = lines("/flow?position=20&by=effect&progress=1");
  EXPECT_EQ(all.back()["by"], "effect");
  std::vector<json> removed;
  for (const json& line : all)
    if (line.value("working", "") == "removed") removed.push_back(line);
  EXPECT_GT(all.back()["tried"], 100);
  EXPECT_EQ(removed.size(), 100U);
  EXPECT_EQ(removed.back()["done"], all.back()["tried"]);
}

TEST_F(WordsServer, WhatThereIsNotIsRefusedByName) {
  expect_error(ask("/lens?begin=9999"), 404, "not_found");
  expect_error(ask("/lens?begin=3&end=3"), 400, "bad_request");
  expect_error(ask("/logits?position=-1"), 404, "not_found");
  expect_error(ask("/next?top=65"), 400, "bad_request");
  expect_error(ask("/branch?position=3"), 400, "bad_request");
  expect_error(ask("/branch?position=3&token=99999"), 404, "not_found");
  expect_error(ask("/branch?position=3&token=1&most=0"), 400, "bad_request");
  expect_error(ask("/flow?position=x"), 400, "bad_request");
  expect_error(ask("/flow?key=9999"), 404, "not_found");
  expect_error(ask("/flow?by=magic"), 400, "bad_request");
  expect_error(ask("/flow?progress=2"), 400, "bad_request");
  expect_error(ask("/flow/graph?format=pdf"), 400, "bad_request");
  // An error found after the headers replaces the answer.
  EXPECT_EQ(json::parse(ask("/beams")->body)["error"]["code"], "bad_request");
  EXPECT_EQ(json::parse(ask("/next?mask=1")->body)["error"]["code"], "bad_request");
}

}  // namespace
}  // namespace heed
