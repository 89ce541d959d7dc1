// heed look --flow: the flow into a token, as text and as a graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;
using test::kText;
using test::look;
using testing::HasSubstr;

TEST(LookFlow, ShowsSharesPathsAndHowFarToTrustThem) {
  const Answer answer = look({kText, "--flow", "--top", "4"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  for (const char* part : {"Flow", "an approximation", "Paths", "all others", "How far to trust it",
                           "rank correlation of share and effect"})
    EXPECT_THAT(answer.out, HasSubstr(part));
}

TEST(LookFlow, OfAMaskedTextGoesIntoTheGap) {
  const Answer answer = test::heed(
      {"look", "The king had a [MASK].", "--flow", "--model", HEED_SOURCE_DIR "/models/masks"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("into [MASK] 5; the most probable word there is "));
}

TEST(LookFlow, OfADecoderThatReadsASourceSaysHowItMovesAndMarksTheSource) {
  const Answer answer = test::heed({"look", "My father is a doctor.", "--stack", "cross", "--flow",
                                    "--model", HEED_SOURCE_DIR "/models/enja"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("a quarter stays, a quarter moves by self-attention"));
  EXPECT_THAT(answer.out, HasSubstr("doctor (source)"));
}

TEST(LookFlow, TheGraphsEdgesGoFromALevelToTheNext) {
  const Answer answer = look({kText, "--flow", "--who", "mat", "--format", "json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json graph = json::parse(answer.out);
  std::map<std::string, json> nodes;
  double top = 0;
  for (const json& node : graph["nodes"]) {
    nodes[node["id"]] = node;
    if (node["level"] == 2) top += node["share"].get<double>();
  }
  EXPECT_NEAR(top, 1, 1e-6);  // the token itself behind both layers
  ASSERT_FALSE(graph["edges"].empty());
  for (const json& edge : graph["edges"])
    EXPECT_EQ(nodes.at(edge["target"])["level"].get<int>(),
              nodes.at(edge["source"])["level"].get<int>() + 1);
}

TEST(LookFlow, TheFormatIsThatOfTheFilesName) {
  ASSERT_EQ(look({kText, "--flow", "-o", in_scratch("flow.graphml")}).status, 0);
  EXPECT_THAT(test::content(in_scratch("flow.graphml")), HasSubstr("<graphml"));
  ASSERT_EQ(look({kText, "--flow", "--by", "effect", "-o", in_scratch("flow.dot")}).status, 0);
  EXPECT_THAT(test::content(in_scratch("flow.dot")), HasSubstr("digraph flow"));
}

TEST(LookFlow, WhatItCannotShowIsRefused) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{kText, "--flow", "--layer", "1"}, "--layer cannot be used with --flow"},
      {{kText, "--flow", "--heads", "all"}, "--heads cannot be used with --flow"},
      {{kText, "--flow", "--format", "tsv"}, "text, json, graphml or dot"},
      {{kText, "--format", "graphml"}, "needs --flow"},
      {{kText, "--by", "effect"}, "--flow"},
      {{kText, "--flow", "--who", "elephant"}, "elephant"},
      {{kText, "--view", "words/L0.H0/i=3", "--format", "json"}, "svg, png or html"}};
  for (const auto& [arguments, why] : cases) {
    const Answer answer = look(arguments);
    EXPECT_EQ(answer.status, 2) << answer.out;
    EXPECT_THAT(answer.error, HasSubstr(why));
  }
}

}  // namespace
}  // namespace heed::cli
