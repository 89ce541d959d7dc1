// A row of weights by dimension, and the plane of a head's queries and keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>

#include "heed/session.h"
#include "inspect/evidence/geometry.h"
#include "inspect/evidence/score_parts.h"
#include "inspect/evidence/why.h"
#include "support/expect_error.h"
#include "support/family_sessions.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::family_model;
using test::family_session;
using test::random_tensor;

double rounding_of(double number) { return 1e-4 * std::max(1.0, std::abs(number)); }

template <typename Numbers>
double total(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

// Calls `use` with each head's place and each of its queries.
template <typename Use>
void of_every_row(const Session& session, Use use) {
  for (const SessionStack& stack : session.stacks)
    for (int layer = 0; layer < stack.shape.layers; ++layer)
      for (int head = 0; head < stack.shape.heads; ++head) {
        const Place place = {stack.shape.stack, layer, head};
        for (std::int64_t i = 0; i < session.at(place).queries(); ++i) use(place, i);
      }
}

// One head, everyone sees everyone.
struct OneHead {
  Tensor q, k;
  Similarity similarity = Similarity::kDot;

  Session session() const {
    const Tensor v = random_tensor(k.shape(), 3);
    AttentionArgs args = {.q = q, .keys = {.k = k, .v = v}};
    args.scores.similarity = similarity;
    return open_session(SessionArrays{.stacks = {{Stack::kCross, {{.args = args}}}}});
  }
};
constexpr Place kOnly = {Stack::kCross, 0, 0};

Tensor rows_of(std::int64_t width, const std::vector<float>& numbers) {
  Tensor rows = Tensor::zeros({1, 1, std::ssize(numbers) / width, width}, DType::kF32);
  std::ranges::copy(numbers, rows.data<float>());
  return rows;
}

class WhyRow : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, WhyRow, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(WhyRow, TheTermsOfEachKeySumToItsScoreAndGiveItsWeight) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  Cancel never;
  of_every_row(session, [&](const Place& place, std::int64_t i) {
    const HeadRows rows(session.at(place), place.head);
    const Dimensions row = dimensions(session, {place, i}, never);
    ASSERT_EQ(row.keys.size(), rows.visible_keys(i).size());
    double weights = 0;
    for (const DimensionsKey& key : row.keys) {
      const Why because = why(session, &model, place, i, key.key);
      EXPECT_NEAR(total(key.terms), key.product, rounding_of(key.product));
      EXPECT_NEAR(key.product, because.raw.sum, 1e-9);
      EXPECT_NEAR(rows.capped(key.product) + rows.bias(i, key.key) + rows.alibi(i, key.key),
                  key.score, rounding_of(key.score));
      EXPECT_NEAR(key.weight, std::exp(key.score - because.lse), 1e-5);
      weights += key.weight;
    }
    EXPECT_NEAR(weights, test::share_of_tokens(session.at(place), place.head, i), 1e-5);
    EXPECT_EQ(row.rest_count, 0);
  });
}

TEST_P(WhyRow, TheRowInViewIsExactAlongTheFirstAxisOfThePlane) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  Cancel never;
  of_every_row(session, [&](const Place& place, std::int64_t i) {
    for (const bool still : {false, true}) {
      const Geometry plane = geometry(session, &model, {place, i, {}, still}, never);
      const PlaneQuery& query = plane.queries.at(static_cast<std::size_t>(i));
      double row = 0;
      for (const PlaneKey& key : plane.keys) {
        const double score = key.product - plane.mean;
        row = std::max(row, std::abs(score));
        EXPECT_NEAR(query.x * key.x, score, rounding_of(score));
      }
      EXPECT_GE(query.x, 0);
      EXPECT_NEAR(query.y, 0, 1e-9);
      EXPECT_LE(plane.explained, 1);
      EXPECT_NEAR(plane.explained, total(plane.shares), row == 0 ? 1 : 1e-9);
    }
  });
}

// Before positions turn queries and keys, their product is the content of the score.
TEST_P(WhyRow, BeforeTheRotationAProductIsTheContentOfTheScore) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  Cancel never;
  of_every_row(session, [&](const Place& place, std::int64_t i) {
    const Geometry plane = geometry(session, &model, {place, i, {}, true}, never);
    for (const PlaneKey& key : plane.keys) {
      const Why because = why(session, &model, place, i, key.key);
      EXPECT_EQ(plane.turned, !because.bands.empty());
      EXPECT_NEAR(key.product, because.sum.terms.at(0).value, rounding_of(key.product));
      EXPECT_NEAR(key.weight, because.weight, 1e-6);
    }
  });
}

TEST(WhyRow, ListsTheLargestKeysTheOneAskedForAndSaysTheRest) {
  const Session session =
      OneHead{random_tensor({1, 1, 4, 8}, 1), random_tensor({1, 1, 40, 8}, 2)}.session();
  Cancel never;
  const Dimensions all = dimensions(session, {kOnly, 2, {}, 64}, never);
  ASSERT_EQ(all.keys.size(), 40U);
  const std::int64_t smallest = all.keys.back().key;
  const Dimensions some = dimensions(session, {kOnly, 2, smallest, 3}, never);
  ASSERT_EQ(some.keys.size(), 4U);
  EXPECT_EQ(some.keys.back().key, smallest);
  EXPECT_GE(some.keys[0].weight, some.keys[1].weight);
  EXPECT_EQ(some.rest_count, 36);
  double listed = 0;
  for (const DimensionsKey& key : some.keys) listed += key.weight;
  EXPECT_NEAR(listed + some.rest_weight, 1, 1e-5);
  EXPECT_EQ(some.spread, all.spread);
}

TEST(WhyRow, AKeyThatTheMaskHidesIsListedWithoutAWeight) {
  const LoadedModel model = family_model(test::kFamilyVariants[0]);  // causal
  const Session session = family_session(model);
  Cancel never;
  const Dimensions row = dimensions(session, {{Stack::kSelf, 0, 1}, 2, 5}, never);
  ASSERT_EQ(row.keys.size(), 4U);
  EXPECT_EQ(row.of, 3);
  EXPECT_EQ(row.rest_count, 0);
  EXPECT_FALSE(row.keys.back().visible);
  EXPECT_EQ(row.keys.back().weight, 0);
  EXPECT_NEAR(row.keys.back().score, row.keys.back().product, 1e-9);
}

TEST(WhyRow, ADimensionThatAllKeysShareSpreadsNothing) {
  const Session session = OneHead{rows_of(2, {5, 1}), rows_of(2, {3, -1, 3, 0, 3, 1})}.session();
  Cancel never;
  const Dimensions row = dimensions(session, {kOnly, 0}, never);
  EXPECT_NEAR(row.spread.at(0), 0, 1e-6);
  EXPECT_GT(row.spread.at(1), 0.1);
}

TEST(Geometry, OfAHeadOfTwoDimensionsIsExact) {
  const Session session =
      OneHead{random_tensor({1, 1, 6, 2}, 4), random_tensor({1, 1, 9, 2}, 5)}.session();
  Cancel never;
  const Geometry plane = geometry(session, nullptr, {kOnly, 3}, never);
  EXPECT_NEAR(plane.explained, 1, 1e-9);
  ASSERT_EQ(plane.keys.size(), 9U);
  for (const PlaneQuery& query : plane.queries) {
    const Geometry own = geometry(session, nullptr, {kOnly, query.query}, never);
    for (std::size_t j = 0; j < 9; ++j)
      EXPECT_NEAR(query.x * plane.keys[j].x + query.y * plane.keys[j].y,
                  own.keys[j].product - own.mean, 1e-9);
  }
}

// Three orthogonal directions with singular values 3, 2, 1 (times sqrt(2) and the scale); each
// query has one of them.
TEST(Geometry, TakesTheDirectionOfTheRowThenTheLeadingOneOfTheRest) {
  const std::vector<float> keys = {0, 1, 0, 0, -1, 0, 1, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, -1};
  const Session session =
      OneHead{rows_of(3, {0, 0, 1, 3, 0, 0, 0, 2, 0}), rows_of(3, keys)}.session();
  Cancel never;
  const Geometry plane = geometry(session, nullptr, {kOnly, 1}, never);
  EXPECT_NEAR(plane.shares.at(0), 9.0 / 14, 1e-9);
  EXPECT_NEAR(plane.shares.at(1), 4.0 / 14, 1e-9);
  const Geometry of_the_least = geometry(session, nullptr, {kOnly, 0}, never);
  EXPECT_NEAR(of_the_least.shares.at(0), 1.0 / 14, 1e-9);
  EXPECT_NEAR(of_the_least.shares.at(1), 9.0 / 14, 1e-9);
  EXPECT_NEAR(plane.keys.at(2).x, -plane.keys.at(3).x, 1e-9);
  EXPECT_GT(plane.keys.at(2).x, 0.5);
  EXPECT_NEAR(plane.keys.at(2).y, 0, 1e-9);
}

TEST(Geometry, OfALongRowHasTheNearestTokensAndTheLargestKeys) {
  const Session session =
      OneHead{random_tensor({1, 1, 300, 4}, 6), random_tensor({1, 1, 300, 4}, 7)}.session();
  Cancel never;
  const Dimensions row = dimensions(session, {kOnly, 290}, never);
  const Geometry plane = geometry(session, nullptr, {kOnly, 290, 1}, never);
  EXPECT_EQ(plane.queries.size(), 128U);
  EXPECT_EQ(plane.queries.back().query, 299);
  EXPECT_EQ(plane.other_queries, 172);
  EXPECT_LE(plane.keys.size(), 145U);
  EXPECT_EQ(plane.other_keys, 300 - std::ssize(plane.keys));
  const auto shows = [&](std::int64_t at) {
    return std::ranges::find(plane.keys, at, &PlaneKey::key) != plane.keys.end();
  };
  EXPECT_TRUE(shows(1));
  for (const DimensionsKey& key : row.keys) EXPECT_TRUE(shows(key.key)) << key.key;
}

TEST(Geometry, OfARowWithOneKeyHasNoDirections) {
  const LoadedModel model = family_model(test::kFamilyVariants[0]);
  const Session session = family_session(model);
  Cancel never;
  const Geometry plane = geometry(session, &model, {{Stack::kSelf, 1, 0}, 0}, never);
  ASSERT_EQ(plane.keys.size(), 1U);
  EXPECT_EQ(plane.shares, (std::vector<double>{0, 0}));
  EXPECT_EQ(plane.keys[0].x, 0);
}

TEST(Geometry, RefusesScoresThatAreDistances) {
  const Session session =
      OneHead{random_tensor({1, 1, 3, 4}, 1), random_tensor({1, 1, 3, 4}, 2), Similarity::kGaussian}
          .session();
  Cancel never;
  EXPECT_HEED_ERROR(geometry(session, nullptr, {kOnly, 0}, never), ErrorCode::kUnsupported,
                    "geometry: similarity is a distance, expected dot or cosine, whose scores are "
                    "products of q and k");
}

TEST(Geometry, EndsWhereItIsNotWantedAnyMore) {
  const Session session =
      OneHead{random_tensor({1, 1, 6, 2}, 4), random_tensor({1, 1, 9, 2}, 5)}.session();
  Cancel stopped(std::make_shared<std::atomic<bool>>(true), [] { return false; });
  EXPECT_THROW(geometry(session, nullptr, {kOnly, 3}, stopped), Error);
}

}  // namespace
}  // namespace heed
