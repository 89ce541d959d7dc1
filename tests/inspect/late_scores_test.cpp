#include "inspect/heads/late_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "heed/look.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/heads/head_evidence.h"
#include "inspect/heads/scores.h"
#include "support/expect_error.h"
#include "support/family_sessions.h"

namespace heed {
namespace {

double value(LateScores& late, const Place& place, std::string_view name, ScoreFrom from) {
  Cancel cancel;
  return late.values(place, from, cancel).at(score_index(name));
}

// For every family, its cross-attentions included.
TEST(LateScores, WithoutIsTheRiseOfTheMeanLossWhenAHeadGivesNothing) {
  for (const test::FamilyVariant& variant : test::kFamilyVariants) {
    const LoadedModel model = test::family_model(variant);
    const Session session = test::family_session(model);
    LateScores late(session, &model);
    for (const SessionStack& stack : session.stacks) {
      const Place place{stack.shape.stack, 1, 1};
      const double found = value(late, place, "without", ScoreFrom::kRun);
      if (!session.info.has_logits) {
        EXPECT_TRUE(std::isnan(found)) << variant.name;
        continue;
      }
      const auto mean = [&](const Edits& edits) {
        const std::vector<double> losses = edited_losses(session, edits, model);
        return std::accumulate(losses.begin(), losses.end(), 0.0) /
               static_cast<double>(losses.size());
      };
      EXPECT_NEAR(found, mean({.ablate = {place}}) - mean({}), 1e-6) << variant.name;
    }
  }
}

TEST(LateScores, OfTheProbeAreThoseOfProbeHeads) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  LateScores late(session, &model);
  const Probe probe = probe_heads(model, usual_probe(model));
  EXPECT_EQ(probe.period, 4);  // of 8 positions
  EXPECT_EQ(value(late, {.layer = 2, .head = 1}, "probe_induction", ScoreFrom::kProbe),
            probe.heads[5].induction);
  EXPECT_EQ(value(late, {.layer = 2, .head = 1}, "probe_duplicate", ScoreFrom::kProbe),
            probe.heads[5].duplicate);
}

TEST(LateScores, KnownAreThoseThatWereAskedFor) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  LateScores late(session, &model);
  EXPECT_TRUE(std::isnan(late.known({}).at(score_index("without"))));
  const double without = value(late, {}, "without", ScoreFrom::kRun);
  EXPECT_EQ(late.known({}).at(score_index("without")), without);
  EXPECT_TRUE(std::isnan(late.known({}).at(score_index("probe_induction"))));
  EXPECT_TRUE(std::isnan(late.known({.head = 1}).at(score_index("without"))));
}

TEST(LateScores, AreNotThereWithoutAModel) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  LateScores late(session, nullptr);
  EXPECT_TRUE(std::isnan(value(late, {}, "without", ScoreFrom::kRun)));
  EXPECT_TRUE(std::isnan(value(late, {}, "probe_induction", ScoreFrom::kProbe)));
}

TEST(LateScores, EndWhenTheyAreCancelled) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  LateScores late(session, &model);
  Cancel cancel(std::make_shared<std::atomic<bool>>(true), [] { return true; });
  EXPECT_THROW(late.values({}, ScoreFrom::kRun, cancel), Error);
  Cancel never;
  EXPECT_FALSE(std::isnan(late.values({}, ScoreFrom::kRun, never)[score_index("without")]));
}

// The mean of the rows that count is the score, for every score, in both forms.
TEST(HeadEvidence, RowsAverageToTheScore) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[1]);
  const Session session = test::family_session(model);
  LateScores late(session, &model);
  Cancel cancel;
  const Place place{.layer = 1, .head = 2};
  const HeadScores head = score_heads(session, Stack::kSelf, 1)[2];
  for (std::size_t score = 0; score < all_scores().size(); ++score) {
    const ScoreInfo& info = score_infos()[score];
    if (info.reads_source || info.of_images) continue;  // of cross-attention, of images alone
    const double expected = info.from == ScoreFrom::kText
                                ? head.values[score]
                                : late.values(place, info.from, cancel)[score];
    const HeadEvidence evidence = head_evidence(late, {.place = place, .score = score}, cancel);
    double sum = 0;
    int count = 0;
    for (const float row : evidence.rows) {
      if (std::isnan(row)) continue;
      sum += static_cast<double>(row);
      ++count;
    }
    EXPECT_NEAR(count > 0 ? sum / count : 0, expected, 1e-5) << info.name;
    EXPECT_LE(evidence.worst.size(), 3U);
  }
}

TEST(HeadEvidence, CountsWhereTheScoresKeyIsTheLargestOfItsRow) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  LateScores late(session, &model);
  Cancel cancel;
  const HeadEvidence evidence =
      head_evidence(late, {.place = {}, .score = score_index("current")}, cancel);
  std::int64_t first = 0;
  visit_rows(session.at(Place{}), 0, [&](std::int64_t, std::int64_t row, auto weights) {
    const float own = weights[static_cast<std::size_t>(row)];
    if (row > 0 && std::ranges::all_of(weights, [&](float weight) { return weight <= own; }))
      ++first;
  });
  EXPECT_EQ(evidence.first_of_row, first);
  EXPECT_EQ(evidence.counted, 6);
  for (const WorstRow& row : evidence.worst) EXPECT_TRUE(row.key.has_value());
}

TEST(HeadEvidence, SaysWhyAScoreIsNotThere) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  LateScores late(session, nullptr);
  Cancel cancel;
  EXPECT_HEED_ERROR(head_evidence(late, {.place = {}, .score = score_index("without")}, cancel),
                    ErrorCode::kNotFound,
                    "evidence: score is without, expected a score of weights: there is no model");
}

}  // namespace
}  // namespace heed
