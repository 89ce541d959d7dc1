// Flow: rollout as plain products of matrices, paths by counting all, effects by passes with masks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "heed/look.h"
#include "heed/mask.h"
#include "inspect/answers/why.h"
#include "inspect/evidence/flow_effects.h"
#include "inspect/evidence/read_out.h"
#include "inspect/session/session_input.h"
#include "support/family_sessions.h"

namespace heed {
namespace {

using test::kNever;
using Matrix = std::vector<std::vector<double>>;

class FlowOf : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, FlowOf, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });

Matrix zeros(std::int64_t rows, std::int64_t columns) {
  return Matrix(static_cast<std::size_t>(rows),
                std::vector<double>(static_cast<std::size_t>(columns)));
}

// The mean over the heads.
Matrix mean_of(const LayerAttention& layer) {
  Matrix mean = zeros(layer.queries(), layer.keys());
  const double heads = static_cast<double>(layer.q.dim(1));
  visit_rows(layer, {}, [&](std::int64_t, std::int64_t query, std::span<const float> weights) {
    for (std::size_t key = 0; key < weights.size(); ++key)
      mean[static_cast<std::size_t>(query)][key] += static_cast<double>(weights[key]) / heads;
  });
  return mean;
}

// Moves to a sink move nothing: their share stays.
Matrix with_all(Matrix moves) {
  for (std::size_t i = 0; i < moves.size(); ++i)
    moves[i][i] += 1 - std::accumulate(moves[i].begin(), moves[i].end(), 0.0);
  return moves;
}

// One layer as a matrix over all nodes.
Matrix layer_matrix(const Session& session, Stack stack, int layer, bool crosses) {
  const std::int64_t tokens = std::ssize(session.tokens);
  const std::int64_t nodes =
      crosses ? tokens + std::ssize(session.key_tokens)
              : static_cast<std::int64_t>(session.at({stack, layer, 0}).queries());
  Matrix moves = zeros(nodes, nodes);
  const std::size_t first =
      crosses && stack == Stack::kEncoder ? static_cast<std::size_t>(tokens) : 0;
  const double share = crosses && stack == Stack::kDecoder ? 0.25 : 0.5;
  const Matrix own = mean_of(session.at({stack, layer, 0}));
  for (std::size_t i = 0; i < moves.size(); ++i) moves[i][i] = 1;
  for (std::size_t i = 0; i < own.size(); ++i) {
    moves[first + i][first + i] = share == 0.25 ? 0.25 : 0.5;
    for (std::size_t j = 0; j < own[i].size(); ++j)
      moves[first + i][first + j] += share * own[i][j];
  }
  if (!crosses || stack != Stack::kDecoder) return with_all(std::move(moves));
  const Matrix over = mean_of(session.at({Stack::kCross, layer, 0}));
  for (std::size_t i = 0; i < over.size(); ++i)
    for (std::size_t j = 0; j < over[i].size(); ++j)
      moves[i][static_cast<std::size_t>(tokens) + j] += 0.5 * over[i][j];
  return with_all(std::move(moves));
}

std::vector<Matrix> matrices(const Session& session, Stack stack) {
  const bool crosses = stack == Stack::kCross;
  std::vector<Matrix> all;
  const Stack own = crosses ? Stack::kDecoder : stack;
  for (int layer = session.at(own).shape.layers; layer-- > 0;)
    all.push_back(layer_matrix(session, own, layer, crosses));
  if (crosses)
    for (int layer = session.at(Stack::kEncoder).shape.layers; layer-- > 0;)
      all.push_back(layer_matrix(session, Stack::kEncoder, layer, true));
  return all;
}

std::vector<double> times(const std::vector<double>& row, const Matrix& matrix) {
  std::vector<double> product(row.size());
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t j = 0; j < row.size(); ++j) product[j] += row[i] * matrix[i][j];
  return product;
}

Flow flow_of(const Session& session, const FlowRequest& request) {
  FlowMoves moves(rollout_steps(session, request.stack), kNever);
  return flow(moves, request);
}

TEST_P(FlowOf, RolloutIsTheProductOfTheLayersMatrices) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  for (const StackShape& shape : session.shapes()) {
    const std::vector<Matrix> layers = matrices(session, shape.stack);
    for (std::int64_t position = 0; position < std::ssize(session.queries(shape.stack));
         ++position) {
      std::vector<double> row(layers.front().size());
      row[static_cast<std::size_t>(position)] = 1;
      for (const Matrix& layer : layers) row = times(row, layer);
      const Flow got = flow_of(session, {.stack = shape.stack, .position = position});
      ASSERT_EQ(got.shares.size(), row.size());
      for (std::size_t node = 0; node < row.size(); ++node)
        EXPECT_NEAR(got.shares[node], row[node], 1e-6) << stack_name(shape.stack) << node;
      EXPECT_LE(got.sum_error, 1e-6);
    }
  }
}

TEST_P(FlowOf, EdgesAndTheirRestHoldAllOfALayer) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  for (const StackShape& shape : session.shapes()) {
    const std::int64_t last = std::ssize(session.queries(shape.stack)) - 1;
    const Flow got = flow_of(session, {.stack = shape.stack, .position = last, .named = 3});
    for (const FlowLayer& layer : got.layers) {
      double sum = layer.rest_share, kept = 0;
      for (const FlowEdge& edge : layer.edges) kept += edge.share;
      EXPECT_NEAR(sum + kept, 1, 1e-6);
      EXPECT_GE(kept, 0.9 - 1e-6);
      EXPECT_LT(kept - layer.edges.back().share, 0.9);
    }
    double all = 0;
    for (const FlowColumn& column : got.columns) all += column.share;
    EXPECT_NEAR(all, 1, 1e-6);
  }
}

// Every way through the layers, by its hops.
void count_ways(const std::vector<Matrix>& layers, std::size_t step,
                std::vector<std::int64_t> nodes, double share,
                std::map<std::vector<std::int64_t>, double>& into) {
  if (step == layers.size()) {
    into[nodes] += share;
    return;
  }
  const auto node = static_cast<std::size_t>(nodes.back());
  for (std::size_t to = 0; to < layers[step].size(); ++to) {
    if (layers[step][node][to] == 0) continue;
    std::vector<std::int64_t> next = nodes;
    if (to != node) next.push_back(static_cast<std::int64_t>(to));
    count_ways(layers, step + 1, next, share * layers[step][node][to], into);
  }
}

TEST_P(FlowOf, PathsAreTheLargestOfAllWays) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  const Stack stack = session.shapes().back().stack;  // of two sides the cross-attention
  const std::int64_t position = std::ssize(session.queries(stack)) - 1;
  std::map<std::vector<std::int64_t>, double> ways;
  count_ways(matrices(session, stack), 0, {position}, 1, ways);
  std::vector<double> shares;
  for (const auto& [nodes, share] : ways) shares.push_back(share);
  std::ranges::sort(shares, std::greater());
  const Flow got = flow_of(session, {.stack = stack, .position = position, .paths = 6});
  ASSERT_EQ(got.paths.size(), std::min<std::size_t>(6, shares.size()));
  for (std::size_t at = 0; at < got.paths.size(); ++at) {
    EXPECT_NEAR(got.paths[at].share, shares[at], 1e-6);
    EXPECT_NEAR(got.paths[at].share, ways.at(got.paths[at].nodes), 1e-6);
  }
}

TEST_P(FlowOf, TheWayToATokenEndsThere) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  const Stack stack = session.shapes().front().stack;
  const std::int64_t position = std::ssize(session.queries(stack)) - 1;
  const Flow got = flow_of(session, {.stack = stack, .position = position, .key = 4});
  ASSERT_EQ(got.way.size(), got.layers.size() + 1);
  EXPECT_EQ(got.way.front(), position);
  EXPECT_EQ(got.way.back(), 4);
}

// Adds a mask, made of a tensor, to every layer of one stack.
struct KeepTap final : Tap {
  Mask mask(Stack of, int) override { return of == stack ? Mask::keep(seen) : Mask(); }
  Stack stack = Stack::kSelf;
  Tensor seen;
};

TEST_P(FlowOf, AHiddenTokensEffectIsThatOfAPassWithItsColumnMasked) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  if (session.info.reads_source()) return;  // their masks are of two attentions: tested below
  const std::int64_t length = std::ssize(session.tokens);
  const Flow got = flow_of(session, {.position = length - 1});
  const FlowTest test = test_flow(session, model, got, kNever);
  ASSERT_TRUE(test.outcome.has_word);
  for (const HiddenToken& hidden : test.hidden) {
    KeepTap tap;
    tap.seen = Tensor::zeros({length, length}, DType::kU8);
    for (std::int64_t i = 0; i < length; ++i)
      for (std::int64_t j = 0; j < length; ++j)
        tap.seen.data<std::uint8_t>()[i * length + j] = j != hidden.node || i == j;
    const Tensor out = pass_over(session, model, {.tap = &tap, .all_positions = true});
    const std::span row(out.data<float>() + (length - 1) * out.dim(1),
                        static_cast<std::size_t>(out.dim(1)));
    EXPECT_NEAR(hidden.probability, chance_of(test.outcome.word, row).probability, 1e-5);
    EXPECT_NEAR(hidden.effect, std::log(hidden.probability / test.outcome.probability), 1e-9);
  }
  EXPECT_EQ(std::ssize(test.hidden) + 1,
            std::ranges::count_if(got.shares, [](double s) { return s > 0; }));
}

TEST_P(FlowOf, EverySideHasEffectsAndWeighsByThem) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  for (const StackShape& shape : session.shapes()) {
    const std::int64_t last = std::ssize(session.queries(shape.stack)) - 1;
    const FlowRequest request{.stack = shape.stack, .position = last};
    FlowMoves moves(rollout_steps(session, shape.stack), kNever);
    const FlowTest test = test_flow(session, model, flow(moves, request), kNever);
    EXPECT_EQ(test.outcome.has_word, shape.stack != Stack::kEncoder);
    EXPECT_FALSE(test.hidden.empty());
    EXPECT_TRUE(std::ranges::any_of(test.hidden, [](const auto& h) { return h.effect != 0; }));
    EXPECT_GT(weigh_by_effect(moves, session, model, request, kNever), 0);
    const Flow by_effect = flow(moves, request);
    EXPECT_NEAR(std::accumulate(by_effect.shares.begin(), by_effect.shares.end(), 0.0), 1, 1e-6);
  }
}

TEST(Flow, TellsEachLayerAndEachTokenOfItsWork) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  FlowMoves moves(rollout_steps(session, Stack::kSelf), kNever);
  const std::int64_t layers = std::ssize(moves.steps().steps);
  std::map<FlowWork, std::int64_t> done;
  const OnFlowWork told = [&](FlowWork work, std::int64_t part, std::int64_t of) {
    EXPECT_EQ(part, ++done[work]);
    EXPECT_EQ(of, work == FlowWork::kHidden ? 6 : layers);
  };
  const Flow got = flow(moves, {.position = 6}, told);
  EXPECT_EQ(done, (std::map<FlowWork, std::int64_t>{{FlowWork::kLayers, layers},
                                                    {FlowWork::kEdges, layers}}));
  test_flow(session, model, got, kNever, told);
  EXPECT_EQ(done[FlowWork::kHidden], 6);
}

TEST(Flow, ItsTestNeedsNoMoreThanTheShares) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  FlowMoves moves(rollout_steps(session, Stack::kSelf), kNever);
  const FlowTest of_shares = test_flow(session, model, flow_shares(moves, {.position = 6}), kNever);
  const FlowTest of_all = test_flow(session, model, flow_of(session, {.position = 6}), kNever);
  EXPECT_EQ(of_shares.rank_correlation, of_all.rank_correlation);
  EXPECT_EQ(of_shares.hidden.size(), of_all.hidden.size());
}

TEST(Flow, OfALongTextTheLargestSharesAreTried) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  const Flow got = flow_of(session, {.position = 6});
  const FlowTest all = test_flow(session, model, got, kNever);
  EXPECT_EQ(all.not_hidden, 0);
  EXPECT_EQ(all.hidden.size(), 6U);
}

TEST(Flow, RankCorrelationIsSpearmans) {
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}), 1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1, 1e-12);
  // 1 - 6 * (0 + 1 + 1 + 1 + 1) / (5 * 24)
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4, 5}, {1, 3, 2, 5, 4}), 0.8, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 1, 2}, {1, 1, 2}), 1, 1e-12);  // ties share their mean rank
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2}, {1, 2})));
}

TEST(Flow, AGraphFileEscapesWhatATokenHolds) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  Session session = test::family_session(model);
  session.tokens[6].bytes = "<\"&\\\n>";
  const Flow got = flow_of(session, {.position = 6});
  const std::string xml = flow_graph(got, session, "rollout", GraphFormat::kGraphMl);
  EXPECT_NE(xml.find("&lt;&quot;&amp;\\"), std::string::npos) << xml;
  EXPECT_EQ(xml.find("<\"&"), std::string::npos);
  const std::string dot = flow_graph(got, session, "rollout", GraphFormat::kDot);
  EXPECT_NE(dot.find("<\\\"&\\\\"), std::string::npos) << dot;
  EXPECT_NE(flow_graph(got, session, "rollout", GraphFormat::kJson).find("\"3:6\""),
            std::string::npos);
}

}  // namespace
}  // namespace heed
