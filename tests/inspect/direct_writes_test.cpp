// Compares what a head adds to the logit of a word with its write followed forward to all logits.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "inspect/evidence/model_streams.h"
#include "inspect/evidence/read_out.h"
#include "inspect/heads/head_evidence.h"
#include "inspect/heads/late_scores.h"
#include "support/expect_error.h"
#include "support/family_sessions.h"

namespace heed {
namespace {

class DirectOf : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, DirectOf, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });

// The logits [V] that a head's write at one position adds, through the norms behind it, held still.
std::vector<float> followed_logits(const LoadedModel& model, const Session& session,
                                   const Writes& writes, const Place& place, std::int64_t row) {
  const ModelParts parts = model.model->parts();
  const PlaceInStream at = find_place(parts, place);
  const BranchParts& branch = at.stream->branches[at.branch];
  const Tensor heads = writes.rows_of(TapKind::kHeads, place.stack, place.layer, {row});
  const std::int64_t size = branch.attention->shape().head_dim;
  Tensor write = head_write(
      *branch.attention, place.head,
      Tensor::copy_of(heads.view().slice(1, place.head * size, (place.head + 1) * size)));
  if (branch.inside)
    FrozenNorm(*branch.inside, branch.attention->parts().out.apply(heads, {})).apply(write);
  StreamSum stream(*at.stream, writes, session, {row});
  stream.pass_branches(at.branch);
  stream.pass_write();
  stream.follow(std::move(write));
  if (branch.after) stream.pass_norm(*branch.after);
  stream.pass_branches(at.stream->branches.size());
  if (at.stream->last) stream.pass_norm(*at.stream->last);
  const Tensor logits = parts.words->product(stream.followed(), {});
  std::vector<float> all(logits.data<float>(), logits.data<float>() + logits.element_count());
  for (float& logit : all) logit *= static_cast<float>(parts.words_scale);
  return all;
}

TEST_P(DirectOf, RowsAreTheLogitsOfTheWordsThatCameLessTheMean) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  const std::vector<DirectWrites> heads = direct_writes(session, model);
  if (!session.info.has_logits || model.model->parts().words == nullptr) {
    EXPECT_TRUE(heads.empty());
    return;
  }
  const Writes writes(session, model, {});
  std::size_t expected_heads = 0;
  for (const SessionStack& stack : session.stacks)
    if (stack.shape.stack != Stack::kEncoder)
      expected_heads += static_cast<std::size_t>(stack.shape.layers * stack.shape.heads);
  ASSERT_EQ(heads.size(), expected_heads);
  for (const DirectWrites& head : heads) {
    ASSERT_EQ(head.logits.size(), session.tokens.size());
    for (std::size_t row = 0; row < head.logits.size(); ++row) {
      const auto at = static_cast<std::int64_t>(row);
      const std::vector<float> logits = followed_logits(model, session, writes, head.place, at);
      const std::span own(session.logits.data<float>() + at * session.info.vocabulary,
                          static_cast<std::size_t>(session.info.vocabulary));
      const TokenId word = word_that_came(session, at).value_or(first_choice(own));
      const double mean =
          std::accumulate(logits.begin(), logits.end(), 0.0) / static_cast<double>(logits.size());
      const double expected = logits[static_cast<std::size_t>(word)] - mean;
      EXPECT_NEAR(head.logits[row], expected, 2e-5 * (1 + std::abs(expected)))
          << stack_name(head.place.stack) << ' ' << head.place.layer << '.' << head.place.head;
    }
  }
}

TEST_P(DirectOf, TheScoreIsTheMeanOfItsRows) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  LateScores late(session, &model);
  Cancel cancel;
  const std::size_t score = score_index("direct");
  const std::vector<DirectWrites> heads = direct_writes(session, model);
  const Place place = heads.empty() ? Place{session.stacks[0].shape.stack, 0, 0} : heads[1].place;
  const double found = late.values(place, ScoreFrom::kRun, cancel)[score];
  if (heads.empty()) {
    EXPECT_TRUE(std::isnan(found));
    EXPECT_THROW(head_evidence(late, {.place = place, .score = score}, cancel), Error);
    return;
  }
  const HeadEvidence evidence = head_evidence(late, {.place = place, .score = score}, cancel);
  EXPECT_EQ(evidence.rows, heads[1].logits);
  EXPECT_EQ(evidence.first_row, 0);
  EXPECT_NEAR(found,
              std::accumulate(evidence.rows.begin(), evidence.rows.end(), 0.0) /
                  static_cast<double>(evidence.rows.size()),
              1e-6);
  for (const float row : evidence.rows)
    EXPECT_LE(evidence.worst.at(0).value, static_cast<double>(row));  // what speaks most against it
}

// Heads of a translator's encoder reach the words only through the decoder.
TEST(Direct, HeadsThatReachNoWordsHaveNone) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[8]);
  const Session session = test::family_session(model);
  LateScores late(session, &model);
  Cancel cancel;
  const Place place{.stack = Stack::kEncoder};
  EXPECT_TRUE(std::isnan(late.values(place, ScoreFrom::kRun, cancel)[score_index("direct")]));
  EXPECT_HEED_ERROR(head_evidence(late, {.place = place, .score = score_index("direct")}, cancel),
                    ErrorCode::kNotFound,
                    "evidence: score is direct, expected a head of a model whose words it reaches");
}

}  // namespace
}  // namespace heed
