// Edits of a session: passes without a head, an edge or a token, in every family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "heed/look.h"
#include "inspect/edited_session.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/session/session_input.h"
#include "inspect/session/visible_keys.h"
#include "support/expect_error.h"
#include "support/family_sessions.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::family_model;
using test::family_session;
using test::largest_difference;

class EditsOf : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, EditsOf, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });

// Writes zeros over one head's output, by hand.
struct ZeroHead final : Tap {
  explicit ZeroHead(Place which) : place(which) {}
  void at(const TapName& name, View value) override {
    if (name.kind != TapKind::kHeads || name.stack != place.stack || name.layer != place.layer)
      return;
    const View head = value.select(0, 0).select(0, place.head);
    for (std::int64_t t = 0; t < head.dim(0); ++t)
      for (std::int64_t d = 0; d < head.dim(1); ++d) head.data<float>()[t * head.stride(0) + d] = 0;
  }
  Place place;
};

std::vector<Place> last_layers(const Session& session) {
  std::vector<Place> places;
  for (const SessionStack& stack : session.stacks)
    places.push_back({stack.shape.stack, stack.shape.layers - 1, stack.shape.heads - 1});
  return places;
}

TEST_P(EditsOf, AnAblatedHeadGivesWhatZeroingItsOutputGives) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  for (const Place& place : last_layers(session)) {
    ZeroHead zero(place);
    const Tensor expected = pass_over(session, model, {.tap = &zero, .all_positions = true});
    const Tensor got = edited_output(session, {.ablate = {place}}, model, {.all_positions = true});
    EXPECT_EQ(largest_difference(got, expected), 0) << stack_name(place.stack);
    const Tensor plain = pass_over(session, model, {.all_positions = true});
    EXPECT_GT(largest_difference(got, plain), 1e-6) << stack_name(place.stack);
  }
}

TEST_P(EditsOf, ARemovedEdgeLeavesItsRowRenormalised) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  for (const Place& place : last_layers(session)) {
    const std::int64_t query = 2, key = 1;
    const Session edited = test::edited_session(session, {.remove = {{place, query, key}}}, model);
    const auto rows = [&](const Session& of, int head) {
      std::vector<std::vector<float>> weights;
      visit_rows(of.at({place.stack, place.layer}), head,
                 [&](std::int64_t, std::int64_t, std::span<const float> row) {
                   weights.emplace_back(row.begin(), row.end());
                 });
      return weights;
    };
    auto before = rows(session, place.head);
    const auto after = rows(edited, place.head);
    const float rest = 1 - before[query][key];
    before[query][key] = 0;
    for (float& weight : before[query]) weight /= rest;
    for (std::size_t i = 0; i < before.size(); ++i)
      for (std::size_t j = 0; j < before[i].size(); ++j)
        EXPECT_NEAR(after[i][j], before[i][j], 1e-5) << i << " " << j;
    if (place.head > 0) {
      EXPECT_EQ(rows(edited, 0), rows(session, 0));
    }
  }
}

std::vector<std::vector<float>> rows_of(const Session& session, const Place& place) {
  std::vector<std::vector<float>> weights;
  visit_rows(session.at({place.stack, place.layer}), place.head,
             [&](std::int64_t, std::int64_t, std::span<const float> row) {
               weights.emplace_back(row.begin(), row.end());
             });
  return weights;
}

// A row's weights after its scores, ln p + lse, are multiplied and added to. A sink stays.
std::vector<double> changed_row(const std::vector<float>& row, double lse, double factor,
                                const std::vector<double>& added) {
  std::vector<double> terms;
  double rest = 1, sum = 0;
  for (std::size_t key = 0; key < row.size(); ++key) {
    terms.push_back(row[key] == 0 ? 0 : std::exp(factor * (std::log(row[key]) + lse) + added[key]));
    rest -= row[key];
    sum += terms.back();
  }
  if (rest > 1e-4) sum += rest * std::exp(lse);
  for (double& term : terms) term /= sum;
  return terms;
}

TEST_P(EditsOf, ATemperatureAndASteeringGiveTheSoftmaxOfTheirScores) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  for (const Place& place : last_layers(session)) {
    Edits edits = {.steer = {{place, -1, 1, 0.7}, {place, 2, 0, -0.4}}};
    for (int head = 0; head < session.at(place.stack).shape.heads; ++head)
      edits.temperature.push_back({{place.stack, place.layer, head}, 1.5});
    const auto before = rows_of(session, place);
    const auto after = rows_of(test::edited_session(session, edits, model), place);
    const LayerAttention& layer = session.at(place);
    for (std::size_t i = 0; i < before.size(); ++i) {
      std::vector<double> added(before[i].size(), 0);
      added[1] += 0.7;
      if (i == 2) added[0] -= 0.4;
      const auto at = static_cast<std::size_t>(place.head) * before.size() + i;
      const double lse = static_cast<double>(layer.lse.data<float>()[at]) +
                         static_cast<double>(layer.lse_low.data<float>()[at]);
      const std::vector<double> wanted = changed_row(before[i], lse, 1.5, added);
      for (std::size_t j = 0; j < wanted.size(); ++j)
        EXPECT_NEAR(after[i][j], wanted[j], 1e-4) << stack_name(place.stack) << i << " " << j;
    }
  }
}

TEST_P(EditsOf, HeadsOfTheSameRunChangeNothing) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const OtherRun run = {"same", std::make_shared<const Session>(shared(session))};
  Edits edits;
  for (const Place& place : last_layers(session))
    for (int head = 0; head < session.at(place.stack).shape.heads; ++head) {
      edits.freeze.push_back({{place.stack, place.layer, head}, run});
      edits.patch.push_back({{place.stack, place.layer, head}, -1, run});
    }
  const Tensor got = edited_output(session, edits, model, {.all_positions = true});
  EXPECT_EQ(largest_difference(got, pass_over(session, model, {.all_positions = true})), 0);
}

TEST(Edits, ThatFollowChangeThoseBefore) {
  const Place place = {Stack::kSelf, 1, 2};
  const Edits steered = {.steer = {{place, -1, 3, 2.0}}};
  const Edits warm = {.temperature = {{place, 0.5}}};
  EXPECT_EQ(to_text(combined(combined(steered, warm), steered)),
            "temperature=self.L1.H2/0.5;steer=self.L1.H2/-1/3/3");
  const OtherRun run = {"other", nullptr};
  EXPECT_EQ(to_text(combined(combined(steered, warm), {.freeze = {{place, run}}})),
            "freeze=self.L1.H2/other");
  EXPECT_EQ(to_text(combined({.patch = {{place, -1, run}}}, {.ablate = {place}})),
            "ablate=self.L1.H2");
}

TEST_P(EditsOf, AHiddenTokenIsSeenByNobody) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const Edits edits = {.hide = {{.position = 1}}};
  const Session edited = test::edited_session(session, edits, model);
  for (const SessionStack& stack : edited.stacks) {
    if (edited.keys(stack.shape.stack).data() != edited.tokens.data()) continue;
    for (const LayerAttention& layer : stack.layers)
      visit_rows(layer, {}, [&](std::int64_t head, std::int64_t query, std::span<const float> row) {
        EXPECT_EQ(row[1], 0);
        double sum = 0;
        for (const float weight : row) sum += weight;
        EXPECT_NEAR(sum, test::share_of_tokens(layer, head, query), 1e-5) << query;
      });
  }
}

TEST_P(EditsOf, AnEditedSessionKeepsItsOwnStreamsAlone) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model, {.streams = true});
  const Session edited = test::edited_session(session, {.ablate = {last_layers(session).back()}},
                                              model, {.streams = true});
  ASSERT_EQ(edited.streams.size(), session.streams.size());
  EXPECT_GT(largest_difference(edited.streams.back().value, session.streams.back().value), 1e-6);
}

TEST_P(EditsOf, WithEveryHeadAblatedTheOutputIsWhatItIs) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  Edits edits;
  for (const SessionStack& stack : session.stacks)
    for (int layer = 0; layer < stack.shape.layers; ++layer)
      for (int head = 0; head < stack.shape.heads; ++head)
        edits.ablate.push_back({stack.shape.stack, layer, head});
  const Tensor output = edited_output(session, edits, model);
  for (std::int64_t i = 0; i < output.element_count(); ++i)
    ASSERT_TRUE(std::isfinite(output.data<float>()[i]));
}

TEST_P(EditsOf, ASwappedTokenGivesTheSessionOfTheOtherText) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const Session edited =
      test::edited_session(session, {.swap = {{{.position = 2}, 9}}}, model, {.all_logits = true});
  Session other = shared(session);
  other.tokens[2].id = 9;
  const Tensor expected = pass_over(other, model, {.all_positions = true});
  const Tensor got = pass_over(edited, model, {.all_positions = true});
  EXPECT_EQ(edited.tokens[2].bytes, "#9");
  EXPECT_EQ(largest_difference(got, expected), 0);
}

TEST_P(EditsOf, AnAddedMaskNarrowsOneHeadAlone) {
  const LoadedModel model = family_model(GetParam());
  const Session session = family_session(model);
  const Place place = last_layers(session).back();
  const Session edited = test::edited_session(
      session,
      {.mask = {{.stack = place.stack, .layer = place.layer, .head = 0, .left = 0, .right = 0}}},
      model);
  visit_rows(edited.at({place.stack, place.layer}), {},
             [&](std::int64_t head, std::int64_t, std::span<const float> row) {
               const auto seen = std::ranges::count_if(row, [](float w) { return w > 0; });
               if (head == 0) {
                 EXPECT_LE(seen, 1);
               }
             });
}

TEST(Edits, LossesAreThoseOfTheLogits) {
  const LoadedModel model = family_model(test::kFamilyVariants[0]);
  const Session session = family_session(model);
  const std::vector<double> losses = edited_losses(session, {}, model);
  ASSERT_EQ(losses.size(), session.tokens.size() - 1);
  for (std::size_t t = 0; t < losses.size(); ++t) {
    const float* row = session.logits.data<float>() + t * 11;
    double sum = 0;
    for (int v = 0; v < 11; ++v) sum += std::exp(static_cast<double>(row[v]));
    EXPECT_NEAR(losses[t], std::log(sum) - row[session.tokens[t + 1].id], 1e-5);
  }
}

TEST(Edits, HaveOneTextHoweverTheyAreGiven) {
  const Edits one = {.ablate = {{.layer = 2, .head = 6}, {.layer = 0, .head = 1}},
                     .remove = {{{.layer = 2, .head = 6}, 197, 67}},
                     .hide = {{.position = 5}},
                     .swap = {{{TokenSide::kKeyTokens, 3}, 431}},
                     .mask = {{.layer = 1, .left = 3, .right = 0}}};
  Edits other = one;
  std::ranges::reverse(other.ablate);
  other.ablate.push_back(other.ablate.front());
  EXPECT_EQ(to_text(canonical(one)),
            "ablate=self.L0.H1,self.L2.H6;remove=self.L2.H6/197/67;hide=tokens/5;"
            "swap=key_tokens/3/431;mask=self.L1/3/0");
  EXPECT_EQ(canonical(one), canonical(other));
  EXPECT_EQ(to_text({}), "");
  EXPECT_EQ(to_text(combined({.swap = {{{.position = 1}, 4}}}, {.swap = {{{.position = 1}, 5}}})),
            "swap=tokens/1/5");
  SessionInput input{.text = "a"};
  const std::string plain = session_name("m", input);
  input.edits = canonical(one);
  EXPECT_NE(session_name("m", input), plain);
}

TEST(Edits, ThatFitNoSessionAreRefusedByName) {
  const LoadedModel model = family_model(test::kFamilyVariants[0]);
  const Session session = family_session(model);
  const auto check = [&](const Edits& edits) { with_edits(session, edits); };
  EXPECT_HEED_ERROR(check({.ablate = {{.layer = 0, .head = 2}}}), ErrorCode::kNotFound,
                    "edits: head is 2, expected 0 to 1 (gpt2 has 2 heads)");
  EXPECT_HEED_ERROR(check({.ablate = {{.stack = Stack::kCross}}}), ErrorCode::kNotFound,
                    "edits: stack is cross, expected self (gpt2 has no other)");
  EXPECT_HEED_ERROR(check({.remove = {{{}, 7, 0}}}), ErrorCode::kNotFound,
                    "edits: query is 7, expected 0 to 6 (7 tokens)");
  EXPECT_HEED_ERROR(check({.hide = {{TokenSide::kKeyTokens, 0}}}), ErrorCode::kInvalidArgument,
                    "edits: side is key_tokens, expected tokens (gpt2 reads no source)");
  EXPECT_HEED_ERROR(check({.swap = {{{.position = 0}, 11}}}), ErrorCode::kInvalidArgument,
                    "edits: id is 11, expected 0 to 10 (gpt2's vocabulary)");
  EXPECT_HEED_ERROR(check({.swap = {{{.position = 0}, 1}, {{.position = 0}, 2}}}),
                    ErrorCode::kInvalidArgument,
                    "edits: swap is given twice for position 0, expected one token per place");
  EXPECT_HEED_ERROR(check({.mask = {{.left = -2}}}), ErrorCode::kInvalidArgument,
                    "edits: left is -2, expected -1 (all keys to that side) or a count");
  Edits all;
  for (int position = 0; position < 7; ++position) all.hide.push_back({.position = position});
  EXPECT_HEED_ERROR(check(all), ErrorCode::kInvalidArgument,
                    "edits: hide is all 7 tokens, expected at least one that is seen");
}

}  // namespace
}  // namespace heed
