#include "heed/look.h"

#include <gtest/gtest.h>

#include <numeric>

#include "inspect/choice.h"
#include "inspect/patterns.h"
#include "inspect/rows/lines.h"
#include "support/expect_error.h"

namespace heed {
namespace {

float wave_of_head(std::int64_t head, std::int64_t i, std::int64_t j) {
  return static_cast<float>(std::sin(static_cast<double>(7 * head + 3 * i + 5 * j)) * 4);
}

TEST(LookRows, WeightsOfEveryRowSumToOne) {
  const LayerAttention layer = test::layer_of(2, 130, wave_of_head);
  const std::vector<LookRow> rows = look_rows(layer, 1, {}, -1);
  ASSERT_EQ(rows.size(), 130);
  for (const LookRow& row : rows) {
    double sum = 0;
    for (const LookKey& key : row.attends) sum += key.weight;
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(row.attends.size(), row.query + 1);
    EXPECT_EQ(row.rest_count, 0);
  }
}

TEST(LookRows, TopAndRestMakeTheWhole) {
  const LayerAttention layer = test::layer_of(1, 20, wave_of_head);
  const std::int64_t queries[] = {1, 19};
  const std::vector<LookRow> rows = look_rows(layer, 0, queries, 3);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].attends.size(), 2);
  const LookRow& last = rows[1];
  EXPECT_EQ(last.query, 19);
  EXPECT_EQ(last.rest_count, 17);
  EXPECT_GE(last.attends[0].weight, last.attends[1].weight);
  EXPECT_GE(last.attends[1].weight, last.attends[2].weight);
  double sum = last.rest_weight;
  for (const LookKey& key : last.attends) sum += key.weight;
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(LookRows, AUnitHasTheSumOfItsKeysAndTheMeanOfItsRows) {
  const LayerAttention layer = test::layer_of(1, 6, wave_of_head);
  const std::int64_t units[] = {0, 2, 3};  // the last is of three tokens
  const std::vector<LookRow> tokens = look_rows(layer, 0, {}, -1);
  std::vector<double> mean(3, 0);
  for (const LookRow& row : tokens)
    for (const LookKey& key : row.attends)
      if (row.query >= 3) mean[key.key < 2 ? 0 : key.key < 3 ? 1 : 2] += key.weight / 3.0;
  const std::int64_t queries[] = {4};
  const std::vector<LookRow> rows = look_unit_rows(layer, 0, units, queries, -1);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].query, 3);
  ASSERT_EQ(rows[0].attends.size(), 3);
  for (const LookKey& key : rows[0].attends)
    EXPECT_NEAR(key.weight, mean[key.key == 0 ? 0 : key.key == 2 ? 1 : 2], 1e-6);
  EXPECT_EQ(look_unit_rows(layer, 0, units, {}, 1).size(), 3);
}

TEST(LookRows, TiesGoToTheLowerKey) {
  const LayerAttention layer =
      test::layer_of(1, 6, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  const std::int64_t queries[] = {5};
  const LookRow row = look_rows(layer, 0, queries, 2)[0];
  EXPECT_EQ(row.attends[0].key, 0);
  EXPECT_EQ(row.attends[1].key, 1);
  EXPECT_NEAR(row.entropy, std::log(6), 1e-6);
}

TEST(LookCell, IsTheExponentialOfScoreLessLse) {
  const LayerAttention layer = test::layer_of(2, 90, wave_of_head);
  const LookCell cell = look_cell(layer, 1, 80, 3);
  EXPECT_TRUE(cell.visible);
  EXPECT_NEAR(cell.score, wave_of_head(1, 80, 3), 1e-5);
  EXPECT_NEAR(cell.weight, std::exp(cell.score - cell.lse), 1e-6);
  EXPECT_EQ(cell.of, 81);
  std::int64_t larger = 0;
  for (std::int64_t j = 0; j <= 80; ++j)
    larger += wave_of_head(1, 80, j) > wave_of_head(1, 80, 3) ? 1 : 0;
  EXPECT_EQ(cell.rank, larger + 1);
}

TEST(LookRows, WithEveryKeyThoseOfWeightZeroAreListedToo) {
  const LayerAttention layer = test::layer_of(
      1, 4, [](std::int64_t, std::int64_t, std::int64_t j) { return j == 0 ? 200.0F : 0.0F; });
  const std::int64_t queries[] = {3};
  EXPECT_EQ(look_rows(layer, 0, queries, -1)[0].attends.size(), 4);
}

TEST(Look, TheRowsOfALongTextAreThoseAroundTheChosenOne) {
  std::vector<LayerAttention> layers;
  layers.push_back(test::layer_of(1, 30, [](std::int64_t, std::int64_t i, std::int64_t j) {
    return j == (i == 12 ? 1 : i) ? 20.0F : 0.0F;
  }));
  const Session session = test::session_of(std::move(layers));
  const auto shown = [&](const LookRequest& request) {
    const Look answer = look(session, request);
    EXPECT_EQ(answer.rows.size() + static_cast<std::size_t>(answer.hidden_rows), 30U);
    return std::pair(answer.rows.front().query, answer.rows.back().query);
  };
  using Ends = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(shown({}), Ends(0, 29));
  EXPECT_EQ(shown({.rows = 20}), Ends(10, 29));
  EXPECT_EQ(shown({.rows = 10}), Ends(7, 16));
  EXPECT_EQ(shown({.layer = 0, .head = 0, .rows = 10}), Ends(20, 29));
}

TEST(LookColumn, IsWhatTheQueriesGiveToOneKey) {
  const LayerAttention layer = test::layer_of(2, 90, wave_of_head);
  const LookColumn column = look_column(layer, 1, 3, 2);
  double sum = 0;
  for (std::int64_t query = 3; query < 90; ++query) sum += look_cell(layer, 1, query, 3).weight;
  EXPECT_NEAR(column.sum, sum, 1e-4);
  EXPECT_EQ(column.from.size(), 2);
  EXPECT_EQ(column.rest_count, 85);
  EXPECT_GE(column.from[0].weight, column.from[1].weight);
  EXPECT_NEAR(column.from[0].weight, look_cell(layer, 1, column.from[0].query, 3).weight, 1e-6);
}

TEST(LookCell, BehindTheQueryIsHidden) {
  EXPECT_FALSE(look_cell(test::layer_of(1, 9, wave_of_head), 0, 3, 4).visible);
}

TEST(VisitRows, GivesHeadsAndRowsInOrder) {
  const LayerAttention layer = test::layer_of(2, 70, wave_of_head);
  std::vector<std::int64_t> seen;
  visit_rows(layer, {}, [&](std::int64_t head, std::int64_t query, std::span<const float> row) {
    seen.push_back(head * 70 + query);
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-5);
  });
  std::vector<std::int64_t> expected(140);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST(ChooseHeadOfEdge, TakesTheLargestWeightOfWhatIsLeftFree) {
  std::vector<LayerAttention> layers;
  for (const std::int64_t back : {1, 2, 3})
    layers.push_back(test::layer_of(2, 12, [&](std::int64_t head, std::int64_t i, std::int64_t j) {
      return head == back % 2 && j == i - back ? 20.0F : 0.0F;
    }));
  const Session session = test::session_of(std::move(layers));
  const auto of = [&](std::int64_t query, std::int64_t key, std::optional<int> layer = {}) {
    return choose_head_of_edge(session, {{query}}, {{key}}, {}, layer, {});
  };
  for (const int back : {1, 2, 3}) {
    const ChosenHead chosen = of(7, 7 - back);
    EXPECT_EQ(std::pair(chosen.layer, chosen.head), std::pair(back - 1, back % 2));
    EXPECT_TRUE(chosen.automatic);
    EXPECT_NEAR(chosen.score, 1, 1e-6);
    EXPECT_EQ(chosen.query, std::optional<std::int64_t>(7));
    EXPECT_EQ(chosen.key, std::optional<std::int64_t>(7 - back));
  }
  EXPECT_EQ(of(7, 6, 1).layer, 1);
  EXPECT_EQ(of(7, 6, 1).reason, "it gives this edge the largest weight, 0.125");
  EXPECT_EQ(of(3, 9).score, 0);  // hidden from every head
  EXPECT_EQ(of(3, 9).reason, "no head can see it");
  EXPECT_FALSE(choose_head_of_edge(session, {{7}}, {{6}}, {}, 2, 0).automatic);
  EXPECT_HEED_ERROR(of(7, 6, 3), ErrorCode::kNotFound,
                    "look: layer is 3, expected 0 to 2 (by hand has 3 layers)");
}

}  // namespace
}  // namespace heed
