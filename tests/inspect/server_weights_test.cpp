// Tiles, rows, arcs, margins and cells against the plain softmax.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "heed/inspect/look.h"
#include "inspect/served.h"

namespace heed {
namespace {

using nlohmann::json;
using test::expect_error;
using test::Served;

// A text of about `count` tokens: letters without merges.
std::string text_of(std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += static_cast<char>('A' + i * i % 26);
  return text;
}

using Matrix = std::vector<std::vector<double>>;  // NaN where masked

Matrix plain_scores(const LayerAttention& layer, std::int64_t head) {
  const std::int64_t length = layer.q.dim(2), width = layer.q.dim(3);
  const float* q = layer.q.data<float>() + head * length * width;
  const float* k = layer.k.data<float>() + head * length * width;
  Matrix scores(length, std::vector<double>(length, std::numeric_limits<double>::quiet_NaN()));
  for (std::int64_t i = 0; i < length; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < width; ++d)
        dot += static_cast<double>(q[i * width + d]) * static_cast<double>(k[j * width + d]);
      scores[i][j] = dot / std::sqrt(static_cast<double>(width));
    }
  return scores;
}

Matrix plain_softmax(Matrix scores) {
  for (auto& row : scores) {
    double sum = 0;
    for (const double score : row)
      if (!std::isnan(score)) sum += std::exp(score);
    for (double& score : row)
      if (!std::isnan(score)) score = std::exp(score) / sum;
  }
  return scores;
}

// One cell of B x B entries as docs/api.md says it.
double plain_cell(const Matrix& matrix, std::int64_t y, std::int64_t x, std::int64_t block,
                  bool max, bool scores) {
  const auto length = static_cast<std::int64_t>(matrix.size());
  double best = -std::numeric_limits<double>::infinity(), sum = 0;
  std::int64_t visible = 0, all = 0;
  for (std::int64_t i = y * block; i < std::min((y + 1) * block, length); ++i)
    for (std::int64_t j = x * block; j < std::min((x + 1) * block, length); ++j) {
      ++all;
      if (std::isnan(matrix[i][j])) continue;
      ++visible;
      best = std::max(best, matrix[i][j]);
      sum += matrix[i][j];
    }
  if (visible == 0) return std::numeric_limits<double>::quiet_NaN();
  if (max) return best;
  return sum / static_cast<double>(scores ? visible : all);
}

struct Case {
  std::int64_t tokens;
  const char* q;
  const char* pool;
};

class ServerTiles : public testing::TestWithParam<Case> {};

std::vector<float> floats(const std::string& body) {
  std::vector<float> values(body.size() / 4);
  std::memcpy(values.data(), body.data(), body.size());
  return values;
}

TEST_P(ServerTiles, EqualThePlainSoftmaxAtEveryZoom) {
  const auto [tokens, q, pool] = GetParam();
  const bool scores = std::string_view(q) == "score", max = std::string_view(pool) == "max";
  const Served served;
  httplib::Client client = served.client();
  const json opened = served.open(text_of(tokens));
  const std::int64_t length = opened["length"];
  const Session session = open_session(test::shared_model(), text_of(tokens));
  Matrix matrix = plain_scores(session.layers[1], 2);
  if (!scores) matrix = plain_softmax(matrix);
  const int zooms = opened["zooms"];
  for (int z = 0; z < zooms; ++z) {
    const std::int64_t block = std::int64_t{1} << (zooms - 1 - z);
    const std::int64_t cells = (length + block - 1) / block, tiles = (cells + 255) / 256;
    for (std::int64_t at = 0; at < tiles * tiles; ++at) {
      const std::int64_t y = at / tiles, x = at % tiles;
      const auto answer =
          client.Get(fmt::format("/api/sessions/{}/tile/1/2/{}/{}/{}?q={}&pool={}&as=f32",
                                 opened["session"].get<std::string>(), z, y, x, q, pool));
      ASSERT_EQ(answer->status, 200);
      const std::vector<float> values = floats(answer->body);
      const std::int64_t height = std::min<std::int64_t>(256, cells - 256 * y);
      const std::int64_t width = std::min<std::int64_t>(256, cells - 256 * x);
      ASSERT_EQ(values.size(), height * width);
      double worst = 0;
      for (std::int64_t e = 0; e < height * width; ++e) {
        const double wanted =
            plain_cell(matrix, 256 * y + e / width, 256 * x + e % width, block, max, scores);
        ASSERT_EQ(std::isnan(values[e]), std::isnan(wanted))
            << z << " " << y << " " << x << " " << e;
        if (!std::isnan(wanted)) worst = std::max(worst, std::abs(values[e] - wanted));
      }
      EXPECT_LT(worst, 1e-5) << "zoom " << z << " tile " << y << " " << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ServerTiles,
                         testing::Values(Case{1, "weight", "max"}, Case{70, "weight", "max"},
                                         Case{256, "weight", "mean"}, Case{257, "weight", "max"},
                                         Case{531, "weight", "mean"}, Case{531, "weight", "max"},
                                         Case{531, "score", "max"}, Case{300, "score", "mean"}));

TEST(ServerTile, BytesAreRightToHalfAStep) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = "/api/sessions/" +
                           served.open(text_of(300))["session"].get<std::string>() +
                           "/tile/0/1/0/0/0";
  const std::vector<float> exact = floats(client.Get(path + "?as=f32")->body);
  const std::string bytes = client.Get(path)->body;
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
  const Served served;
  httplib::Client client = served.client();
  const std::string path =
      "/api/sessions/" + served.open("the cat")["session"].get<std::string>() + "/tile/0/0/0/0/0";
  const auto first = client.Get(path);
  EXPECT_EQ(first->get_header_value("Cache-Control"), "private, max-age=31536000, immutable");
  const auto again = client.Get(path, {{"If-None-Match", first->get_header_value("ETag")}});
  EXPECT_EQ(again->status, 304);
  EXPECT_TRUE(again->body.empty());
}

TEST(ServerWeights, WhatDoesNotExistIsNotFound) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path = "/api/sessions/" + served.open("the cat")["session"].get<std::string>();
  for (const char* rest :
       {"/tile/2/0/0/0/0", "/tile/0/4/0/0/0", "/tile/0/0/1/0/0", "/tile/0/0/0/1/0",
        "/tile/0/0/0/0/-1", "/tile/-1/0/0/0/0", "/tile/0/0/9999999999999/0/0", "/row/0/0/99",
        "/column/0/0/99", "/cell/0/0/0/99", "/cell/0/0/-1/0", "/edges?layer=5&heads=0",
        "/edges?layer=0&heads=7", "/marginals/0/4", "/heads?layer=7"})
    expect_error(client.Get(path + rest), 404, "not_found");
  for (const char* rest :
       {"/tile/a/0/0/0/0", "/tile/0/0/0/0/0?q=sum", "/tile/0/0/0/0/0?as=f64",
        "/tile/0/0/0/0/0?q=score", "/row/0/0/0?top_p=2", "/row/0/0/0?at_most=0", "/edges?layer=0",
        "/edges?layer=0&heads=", "/edges?layer=0&heads=1,x", "/row/0/0/0?top_p=nan",
        "/tile/99999999999999999999/0/0/0/0", "/edges?heads=0&begin=3&end=2"})
    expect_error(client.Get(path + rest), 400, "bad_request");
}

TEST(ServerWeights, ARowHoldsItsWeightsItsArcsAndTheRest) {
  const Served served;
  httplib::Client client = served.client();
  const json opened = served.open(text_of(90));
  const Session session = open_session(test::shared_model(), text_of(90));
  const Matrix matrix = plain_softmax(plain_scores(session.layers[0], 3));
  const json row = json::parse(client
                                   .Get("/api/sessions/" + opened["session"].get<std::string>() +
                                        "/row/0/3/80?top_p=0.3&at_most=5")
                                   ->body);
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
  const Served served;
  httplib::Client client = served.client();
  const std::string path =
      "/api/sessions/" + served.open(text_of(90))["session"].get<std::string>();
  const Session session = open_session(test::shared_model(), text_of(90));
  const Matrix matrix = plain_softmax(plain_scores(session.layers[0], 0));
  const json span = json::parse(client.Get(path + "/row/0/0/60?end=70")->body);
  const json column = json::parse(client.Get(path + "/column/0/0/5?end=7")->body);
  double mean = 0;
  for (int i = 60; i < 70; ++i) mean += matrix[i][7] / 10;
  EXPECT_NEAR(span["weights"][7].get<double>(), mean, 1e-5);
  EXPECT_NEAR(column["weights"][66].get<double>(), matrix[66][5] + matrix[66][6], 1e-5);
  EXPECT_TRUE(column["weights"][4].is_null());
}

TEST(ServerWeights, EdgesOfAWindowAreThoseOfItsRows) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path =
      "/api/sessions/" + served.open(text_of(90))["session"].get<std::string>();
  const json edges =
      json::parse(client.Get(path + "/edges?layer=1&heads=2,0&begin=50&end=53")->body);
  ASSERT_EQ(edges["heads"].size(), 2);
  EXPECT_EQ(edges["heads"][0]["head"], 2);
  ASSERT_EQ(edges["heads"][1]["rows"].size(), 3);
  const json row = json::parse(client.Get(path + "/row/1/0/51")->body);
  EXPECT_EQ(edges["heads"][1]["rows"][1]["edges"], row["edges"]);
  EXPECT_EQ(edges["heads"][1]["rows"][1]["query"], 51);
}

TEST(ServerWeights, MarginsAndStatisticsAgreeWithTheMatrix) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path =
      "/api/sessions/" +
      served.open(text_of(90), /*statistics=*/true)["session"].get<std::string>();
  const Session session = open_session(test::shared_model(), text_of(90));
  const Matrix matrix = plain_softmax(plain_scores(session.layers[1], 3));
  const json margins = json::parse(client.Get(path + "/marginals/1/3")->body);
  double received = 0, entropy = 0, previous = 0;
  for (int i = 4; i < 90; ++i) received += matrix[i][4];
  for (int j = 0; j <= 30; ++j) entropy -= matrix[30][j] * std::log(matrix[30][j]);
  for (int i = 1; i < 90; ++i) previous += matrix[i][i - 1] / 89;
  EXPECT_NEAR(margins["received"][4].get<double>(), received, 1e-4);
  EXPECT_NEAR(margins["keys_in_use"][30].get<double>(), std::exp(entropy), 1e-3);
  EXPECT_LT(margins["row_sum_error"].get<double>(), 1e-5);
  const json heads = json::parse(client.Get(path + "/heads?layer=1")->body);
  const json head = heads["layers"][0]["heads"][3];
  EXPECT_NEAR(head["previous"].get<double>(), previous, 1e-5);
  ASSERT_EQ(head["profile"].size(), 20);
  EXPECT_NEAR(head["profile"][1].get<double>(), previous, 1e-5);
}

TEST(ServerWeights, ACellIsExactAndAMaskedOneSaysSo) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path =
      "/api/sessions/" + served.open(text_of(90))["session"].get<std::string>();
  const json cell = json::parse(client.Get(path + "/cell/1/1/40/7")->body);
  EXPECT_NEAR(cell["weight"].get<double>(),
              std::exp(cell["score"].get<double>() - cell["lse"].get<double>()), 1e-6);
  EXPECT_EQ(cell["of"], 41);
  EXPECT_EQ(cell["others"].size(), 2);
  EXPECT_EQ(json::parse(client.Get(path + "/cell/1/1/7/40")->body)["visible"], false);
}

TEST(Server, GoesOnWhenAClientLeavesInTheMiddle) {
  const Served served;
  const std::string path =
      "/api/sessions/" + served.open(text_of(590))["session"].get<std::string>();
  for (int i = 0; i < 30; ++i) {
    httplib::Client client = served.client();
    client.Get(path + "/edges?layer=0&heads=0,1,2,3",
               [](const char*, std::size_t) { return false; });
  }
  EXPECT_EQ(served.client().Get("/api/model")->status, 200);
}

TEST(Server, ANewerRequestOfTheSameViewDoesNotDisturbItself) {
  const Served served;
  httplib::Client client = served.client();
  const std::string path =
      "/api/sessions/" + served.open(text_of(90))["session"].get<std::string>();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(client.Get(path + fmt::format("/row/0/0/{}?view=hover", i))->status, 200);
}

}  // namespace
}  // namespace heed
