// Rows, arcs, margins and cells compared with the plain softmax.
#include <fmt/format.h>

#include <cmath>

#include "inspect/plain_weights.h"
#include "serve/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::floats;
using test::Matrix;
using test::Opened;
using test::plain_scores;
using test::plain_softmax;
using test::text_of;

TEST(ServerTile, BytesAreRightToHalfAStep) {
  Opened opened(text_of(300));
  const std::string tile = "/self/0/1/tile/0/0/0";
  const std::vector<float> exact = floats(opened.ask(tile + "?as=f32")->body);
  const std::string bytes = opened.ask(tile)->body;
  ASSERT_EQ(bytes.size(), exact.size());
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const int byte = static_cast<unsigned char>(bytes[e]);
    if (std::isnan(exact[e])) {
      EXPECT_EQ(byte, 0);
    } else if (exact[e] < 0x1p-24F) {
      EXPECT_EQ(byte, 1);
    } else {
      EXPECT_NEAR(byte - 2, 253 * (1 + std::log2(exact[e]) / 24), 0.5 + 1e-4);
    }
  }
}

TEST(ServerTile, IsImmutableAndKnownByItsTag) {
  Opened opened("the cat");
  const std::string tile = "/self/0/0/tile/0/0/0";
  const auto first = opened.ask(tile);
  EXPECT_EQ(first->get_header_value("Cache-Control"), "private, max-age=31536000, immutable");
  const auto again =
      opened.client.Get(opened.path + tile, {{"If-None-Match", first->get_header_value("ETag")}});
  EXPECT_EQ(again->status, 304);
  EXPECT_TRUE(again->body.empty());
}

TEST(ServerWeights, WhatDoesNotExistIsNotFound) {
  Opened opened("the cat");
  for (const char* rest : {"/self/2/0/tile/0/0/0", "/self/0/4/tile/0/0/0", "/self/0/0/tile/1/0/0",
                           "/self/0/0/tile/0/1/0", "/self/0/0/tile/0/0/-1", "/self/-1/0/tile/0/0/0",
                           "/self/0/0/tile/9999999999999/0/0", "/self/0/0/row/99",
                           "/self/0/0/column/99", "/self/0/0/cell/0/99", "/self/0/0/cell/-1/0",
                           "/self/5/edges?heads=0", "/self/0/edges?heads=7", "/self/0/4/marginals",
                           "/self/heads?layer=7", "/self/0/0/rows?begin=99"})
    expect_error(opened.ask(rest), 404, "not_found");
  for (const char* rest :
       {"/self/a/0/tile/0/0/0", "/self/0/0/tile/0/0/0?q=sum", "/self/0/0/tile/0/0/0?as=f64",
        "/self/0/0/tile/0/0/0?q=score", "/self/0/0/row/0?top_p=2", "/self/0/0/row/0?at_most=0",
        "/self/0/edges", "/self/0/edges?heads=", "/self/0/edges?heads=1,x",
        "/self/0/0/row/0?top_p=nan", "/self/99999999999999999999/0/tile/0/0/0",
        "/self/0/edges?heads=0&begin=3&end=2", "/self/0/0/rows?begin=1&end=99"})
    expect_error(opened.ask(rest), 400, "bad_request");
}

TEST(ServerWeights, ARowHoldsItsWeightsItsArcsAndTheRest) {
  Opened opened(text_of(90));
  const Session session = open_session(test::shared_model(), text_of(90));
  const Matrix matrix = plain_softmax(plain_scores(session.at({.layer = 0}), 3));
  const json row = opened.get("/self/0/3/row/80?top_p=0.3&at_most=5");
  ASSERT_EQ(row["weights"].size(), 90);
  for (int j = 0; j <= 80; ++j) EXPECT_NEAR(row["weights"][j].get<double>(), matrix[80][j], 1e-5);
  EXPECT_TRUE(row["weights"][81].is_null());
  EXPECT_NEAR(row["sum"].get<double>(), 1, 1e-5);
  double arcs = 0;
  for (const json& edge : row["edges"]) arcs += edge["weight"].get<double>();
  EXPECT_NEAR(arcs + row["rest"]["weight"].get<double>(), 1, 1e-5);
  EXPECT_EQ(row["rest"]["count"].get<std::size_t>() + row["edges"].size(), 81);
  EXPECT_LE(row["edges"].size(), 5);
}

TEST(ServerWeights, ASpanIsTheMeanOfItsRowsAndAColumnTheSumOverItsKeys) {
  Opened opened(text_of(90));
  const Session session = open_session(test::shared_model(), text_of(90));
  const Matrix matrix = plain_softmax(plain_scores(session.at({.layer = 0}), 0));
  const json span = opened.get("/self/0/0/row/60?end=70");
  const json column = opened.get("/self/0/0/column/5?end=7");
  double mean = 0;
  for (int i = 60; i < 70; ++i) mean += matrix[i][7] / 10;
  EXPECT_NEAR(span["weights"][7].get<double>(), mean, 1e-5);
  EXPECT_NEAR(column["weights"][66].get<double>(), matrix[66][5] + matrix[66][6], 1e-5);
  EXPECT_TRUE(column["weights"][4].is_null());
}

TEST(ServerWeights, EdgesOfAWindowAreThoseOfItsRows) {
  Opened opened(text_of(90));
  const json edges = opened.get("/self/1/edges?heads=2,0&begin=50&end=53");
  ASSERT_EQ(edges["heads"].size(), 2);
  EXPECT_EQ(edges["heads"][0]["head"], 2);
  ASSERT_EQ(edges["heads"][1]["rows"].size(), 3);
  const json row = opened.get("/self/1/0/row/51");
  EXPECT_EQ(edges["heads"][1]["rows"][1]["edges"], row["edges"]);
  EXPECT_EQ(edges["heads"][1]["rows"][1]["query"], 51);
}

TEST(ServerWeights, MarginsAndStatisticsAgreeWithTheMatrix) {
  Opened opened(text_of(90), /*statistics=*/true);
  const Session session = open_session(test::shared_model(), text_of(90));
  const Matrix matrix = plain_softmax(plain_scores(session.at({.layer = 1}), 3));
  const json margins = opened.get("/self/1/3/marginals");
  double received = 0, entropy = 0, previous = 0;
  for (int i = 4; i < 90; ++i) received += matrix[i][4];
  for (int j = 0; j <= 30; ++j) entropy -= matrix[30][j] * std::log(matrix[30][j]);
  for (int i = 1; i < 90; ++i) previous += matrix[i][i - 1] / 89;
  EXPECT_NEAR(margins["received"][4].get<double>(), received, 1e-4);
  EXPECT_NEAR(margins["keys_in_use"][30].get<double>(), std::exp(entropy), 1e-3);
  EXPECT_LT(margins["row_sum_error"].get<double>(), 1e-5);
  const json heads = opened.get("/self/heads?layer=1");
  const json head = heads["layers"][0]["heads"][3];
  EXPECT_NEAR(head["previous"].get<double>(), previous, 1e-5);
  ASSERT_EQ(head["profile"].size(), 20);
  EXPECT_NEAR(head["profile"][1].get<double>(), previous, 1e-5);
}

TEST(ServerWeights, ACellIsExactAndAMaskedOneSaysSo) {
  Opened opened(text_of(90));
  const json cell = opened.get("/self/1/1/cell/40/7");
  EXPECT_NEAR(cell["weight"].get<double>(),
              std::exp(cell["score"].get<double>() - cell["lse"].get<double>()), 1e-6);
  EXPECT_EQ(cell["of"], 41);
  EXPECT_EQ(cell["others"].size(), 2);
  EXPECT_EQ(opened.get("/self/1/1/cell/7/40")["visible"], false);
}

TEST(ServerWeights, RowsAreTheRowsAsNumbers) {
  Opened opened(text_of(70));
  const auto length = opened.session["tokens"].size();
  const auto rows = opened.ask("/self/1/2/rows?begin=3&end=6");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->body.size(), 3 * length * sizeof(float));
  const std::vector<float> weights = floats(rows->body);
  for (std::size_t query = 3; query < 6; ++query) {
    const json row = opened.get(fmt::format("/self/1/2/row/{}", query));
    for (std::size_t key = 0; key < length; ++key) {
      const float weight = weights[(query - 3) * length + key];
      EXPECT_EQ(std::isnan(weight), row["weights"][key].is_null()) << query << " " << key;
      if (std::isnan(weight)) continue;
      EXPECT_EQ(weight, row["weights"][key].get<float>());
    }
  }
}

TEST(ServerWeights, AParameterThatAPathDoesNotTakeIsRefusedByName) {
  Opened opened("the cat");
  for (const auto& [rest, expected] :
       {std::pair("/self/0/0/row/0?nonsense=1", "one of end, top_p, at_most, q, view"),
        {"/self/heads?nonsense=1", "one of layer"},
        {"?nonsense=1", "none: this path takes no parameters"}}) {
    const auto answer = opened.ask(rest);
    expect_error(answer, 400, "bad_request");
    const json error = json::parse(answer->body)["error"];
    EXPECT_EQ(error["argument"], "nonsense") << rest;
    EXPECT_EQ(error["found"], "\"1\"") << rest;
    EXPECT_EQ(error["expected"], expected) << rest;
  }
}

}  // namespace
}  // namespace heed
