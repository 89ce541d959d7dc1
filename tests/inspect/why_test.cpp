// Why a weight is what it is: sums that hold in every family, for every cell.
#include "inspect/evidence/why.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "inspect/edited_session.h"
#include "inspect/evidence/origins.h"
#include "inspect/evidence/trial.h"
#include "support/family_sessions.h"
#include "support/shared_data.h"

namespace heed {
namespace {

using test::family_model;
using test::family_session;

constexpr double kTolerance = 1e-4;  // relative to numbers beyond 1

double allowed(double number) { return kTolerance * std::max(1.0, std::abs(number)); }

// Every sum of a cell: the score's, by dimension, and by who wrote query and key.
void expect_sums(const Session& session, const LoadedModel& model, const Writes& writes,
                 const Place& place, std::int64_t i, std::int64_t j) {
  const std::string where = model.name + " " + std::string(stack_name(place.stack)) + " L" +
                            std::to_string(place.layer) + " H" + std::to_string(place.head) + " " +
                            std::to_string(i) + "/" + std::to_string(j);
  const Why because = why(session, &model, place, i, j);
  EXPECT_LE(std::abs(because.sum.residual), allowed(because.score)) << where;
  for (const Sum* sum : {&because.raw, &because.against_mean, &because.against_runner})
    EXPECT_LE(std::abs(sum->residual), 1e-9 * std::max(1.0, std::abs(sum->sum))) << where;
  if (because.visible) {
    EXPECT_NEAR(because.weight, std::exp(because.score - because.lse), 1e-5) << where;
  }
  if (!because.curve.empty()) {
    EXPECT_NEAR(because.curve[i - j], because.score, allowed(because.score)) << where;
  }
  for (const Against against : {Against::kRaw, Against::kMean, Against::kRunner}) {
    const Origins from = origins(session, model, writes, {place, i, j, against, {}});
    EXPECT_LE(std::abs(from.residual), allowed(from.number)) << where;
  }
}

void expect_sums_of_all_cells(const Session& session, const LoadedModel& model, int every) {
  const Writes writes(session, model, {});
  int at = 0;
  for (const SessionStack& stack : session.stacks)
    for (int layer = 0; layer < stack.shape.layers; ++layer)
      for (int head = 0; stack.shape.has(layer) && head < stack.shape.heads; ++head) {
        const Place place = {stack.shape.stack, layer, head};
        const HeadRows rows(session.at(place), head);
        for (std::int64_t i = 0; i < session.at(place).queries(); ++i)
          for (const std::int64_t j : rows.visible_keys(i))
            if (at++ % every == 0) expect_sums(session, model, writes, place, i, j);
      }
}

int first_layer(const StackShape& shape) {
  return shape.attending.empty() ? 0 : shape.attending[0];
}

class WhyOf : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, WhyOf, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });
// Gated heads, and embeddings that pass a projection.
INSTANTIATE_TEST_SUITE_P(OtherParts, WhyOf,
                         testing::Values(test::FamilyVariant{"qwen3_5"},
                                         test::FamilyVariant{"opt_projected"},
                                         test::FamilyVariant{"albert"}),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(WhyOf, EverySumOfEveryCellIsTheScore) {
  const LoadedModel model = family_model(GetParam());
  expect_sums_of_all_cells(family_session(model), model, 1);
}

TEST_P(WhyOf, SumsHoldUnderEdits) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const StackShape& shape = session.stacks.back().shape;
  const Place place{.stack = shape.stack, .layer = first_layer(shape)};
  const Session edited = test::edited_session(
      session, {.ablate = {place}, .hide = {{.position = 1}}, .swap = {{{.position = 2}, 8}}},
      model);
  expect_sums_of_all_cells(edited, model, 5);
}

TEST_P(WhyOf, APartByHeadAddsUpToTheWhole) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const SessionStack& stack = session.stacks.back();
  const Place place = {stack.shape.stack, stack.shape.layers - 1, 0};
  const Writes writes(session, model, {});
  const std::string name = (stack.shape.stack == Stack::kCross ? "cross " : "attn ") +
                           std::to_string(first_layer(stack.shape));
  const Origins whole = origins(session, model, writes, {place, 3, 2, Against::kRaw, {}});
  const Origins split = origins(session, model, writes, {place, 3, 2, Against::kRaw, name});
  EXPECT_GT(split.query_parts.size(), whole.query_parts.size());
  EXPECT_NEAR(split.sum, whole.sum, allowed(whole.sum));
}

TEST_P(WhyOf, SomeRowsOfTheStreamsAreEnough) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const SessionStack& stack = session.stacks.back();
  const OriginsRequest request = {
      {stack.shape.stack, stack.shape.layers - 1, 1}, 3, 1, Against::kRunner, {}};
  const Origins all = origins(session, model, Writes(session, model, {}), request);
  const Origins some =
      origins(session, model, Writes(session, model, rows_for(session, request)), request);
  EXPECT_EQ(all.cells, some.cells);
}

// The write of every key of a row is the head's; its effect on the logits is what the linear path
// gives.
TEST_P(WhyOf, TheValuesOfARowMakeTheHeadsWrite) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const Writes writes(session, model, {});
  for (const SessionStack& stack : session.stacks) {
    const Place place = {stack.shape.stack, stack.shape.layers - 1, 0};
    const Effect alone = effect(session, model, writes, place, 0, 0, 3);
    EXPECT_LE(alone.length, std::abs(alone.head_length) * 1.0001 + 10);
    if (stack.shape.causal) {  // the first row sees itself alone
      EXPECT_NEAR(alone.length, alone.head_length, 1e-4 * alone.head_length);
      EXPECT_NEAR(alone.cosine, 1, 1e-5);
    }
  }
}

TEST(Why, OfEveryTrainedModelAtHandSumsToTheScore) {
  HEED_NEEDS_SHARED("models");
  int models = 0;
  for (const char* group : {"models", "models/tiny"})
    for (const auto& folder : std::filesystem::directory_iterator(test::shared_data() / group)) {
      if (!std::filesystem::exists(folder.path() / "config.json")) continue;
      const LoadedModel model = load_model(folder.path(), {.tokenizers = false, .packed = true});
      const std::vector<TokenId> ids = {1, 2, 0, 2, 1, 1, 2, 0};
      Session session = model.model->info().reads_source()
                            ? tokenize_session(model, ids, std::span(ids).first(5))
                            : tokenize_session(model, ids);
      run_session(session, model);
      expect_sums_of_all_cells(session, model, 3);
      ++models;
    }
  EXPECT_GE(models, 20);
}

// The numbers of the picture in the design: stories260k's published text, 2·6, 197 to 67.
class WhyOfStories : public testing::Test {
 protected:
  void SetUp() override {
    HEED_NEEDS_SHARED("models/stories260k");
    const auto folder = test::shared_data() / "models/stories260k";
    model_ = load_model(folder, {.packed = true, .dtype = DType::kF32});
    session_ = open_session(model_, read_file((folder / "expected_greedy_200.txt").string()));
    ASSERT_EQ(session_.tokens.size(), 201U);
  }
  const Place place_ = {Stack::kSelf, 2, 6};
  LoadedModel model_;
  Session session_;
};

TEST_F(WhyOfStories, TheSumIsThePictures) {
  const Why because = why(session_, &model_, place_, 197, 67);
  EXPECT_NEAR(because.weight, .808, .0005);
  EXPECT_NEAR(because.sum.terms.at(0).value, 3.70, .005);
  EXPECT_NEAR(because.sum.terms.at(1).value, 1.94, .005);
  EXPECT_NEAR(because.lse, 5.85, .005);
  EXPECT_NEAR(because.against_mean.sum, 8.70, .005);
  EXPECT_NEAR(because.against_mean.terms.at(3).value, 5.59, .005);
  EXPECT_NEAR(because.against_mean.terms.at(7).value, 2.77, .005);
  EXPECT_EQ(because.runner, 197);
  EXPECT_EQ(because.rank, 1);
  EXPECT_EQ(because.of, 198);
  EXPECT_NEAR(because.rest_weight, .086, .0005);
  ASSERT_EQ(because.bands.size(), 4U);
  EXPECT_NEAR(because.bands[2].tokens_a_turn, 628, 1);
  EXPECT_NEAR(because.bands[2].still, 3.00, .005);
  EXPECT_NEAR(because.bands[2].turned, 4.38, .005);
}

TEST_F(WhyOfStories, WhoWroteQueryAndKeyIsThePictures) {
  const Writes writes(session_, model_, {});
  const Origins from = origins(session_, model_, writes, {place_, 197, 67, Against::kMean, {}});
  EXPECT_EQ(from.query_parts,
            (std::vector<std::string>{"tokens", "attn 0", "MLP 0", "attn 1", "MLP 1"}));
  const double picture[5][5] = {{.70, .18, .63, .51, .35},
                                {.09, -.07, .32, .08, .24},
                                {.64, -.13, 1.08, .42, .82},
                                {.27, -.11, .47, .14, .36},
                                {.36, -.06, .70, .30, .43}};
  for (std::size_t q = 0; q < 5; ++q)
    for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(from.cells[q][k], picture[q][k], .0051);
}

TEST_F(WhyOfStories, WhatTheValueDidIsThePictures) {
  const Writes writes(session_, model_, {});
  const Effect did = effect(session_, model_, writes, place_, 197, 67, 4);
  EXPECT_NEAR(did.length, 1.24, .005);
  EXPECT_NEAR(did.head_length, 1.33, .005);
  EXPECT_NEAR(did.cosine, 1, .0005);
  EXPECT_EQ(did.raised.at(0).bytes, " She");
  EXPECT_NEAR(did.raised.at(0).change, 1.05, .005);
  EXPECT_EQ(did.lowered.at(0).bytes, "g");
  EXPECT_NEAR(did.lowered.at(0).change, -.80, .005);
}

TEST_F(WhyOfStories, RemovingTheEdgeDoesWhatThePictureSays) {
  const Trial edge = try_edits(session_, model_, {.remove = {{place_, 197, 67}}}, 197, 5);
  const Trial head = try_edits(session_, model_, {.ablate = {place_}}, 197, 5);
  EXPECT_NEAR(edge.words.at(0).as_it_is, .369, .0005);
  EXPECT_NEAR(edge.words.at(0).edited, .365, .0005);
  EXPECT_NEAR(edge.words.at(3).as_it_is, .036, .0005);
  EXPECT_NEAR(edge.words.at(3).edited, .096, .0005);
  EXPECT_NEAR(head.words.at(3).edited, .127, .0005);
}

}  // namespace
}  // namespace heed
