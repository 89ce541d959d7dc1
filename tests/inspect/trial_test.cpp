// A test of an edit, against a real second run that is made by hand.
#include "inspect/evidence/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "heed/masks/keep.h"
#include "inspect/session/pass.h"
#include "support/family_sessions.h"

namespace heed {
namespace {

class TrialOf : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, TrialOf, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });

// A pass in which one head gives zeros, or does not see one key from one query.
struct ByHand final : Tap {
  explicit ByHand(const Place& which) : place(which) {}
  void at(const TapName& name, View value) override {
    if (seen.given() || name.kind != TapKind::kHeads || name.stack != place.stack ||
        name.layer != place.layer)
      return;
    const View head = value.select(0, 0).select(0, place.head);
    for (std::int64_t t = 0; t < head.dim(0); ++t)
      for (std::int64_t d = 0; d < head.dim(1); ++d) head.data<float>()[t * head.stride(0) + d] = 0;
  }
  Mask mask(Stack stack, int layer) override {
    return seen.given() && stack == place.stack && layer == place.layer ? keep(seen) : Mask();
  }
  Place place;
  Tensor seen = {};  // [H, Tq, Tk]
};

std::vector<double> softmax(const Tensor& logits, std::int64_t row) {
  const float* const begin = logits.data<float>() + row * logits.dim(1);
  std::vector<double> all(begin, begin + logits.dim(1));
  for (double& value : all) value = std::exp(value);
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  for (double& value : all) value /= sum;
  return all;
}

void expect_second_run(const Session& session, const LoadedModel& model, const Edits& edits,
                       std::int64_t position, ByHand& by_hand) {
  const Tensor before = pass_over(session, model, {.all_positions = true});
  const Tensor after = pass_over(session, model, {.tap = &by_hand, .all_positions = true});
  const Trial trial = try_edits(session, model, edits, position, 4);
  double difference = 0, size = 0;
  for (std::int64_t i = position * before.dim(1); i < (position + 1) * before.dim(1); ++i) {
    const double from = before.data<float>()[i], to = after.data<float>()[i];
    difference += (to - from) * (to - from);
    size += from * from;
  }
  EXPECT_NEAR(trial.moved, std::sqrt(difference / size), 1e-4);
  if (!session.info.has_logits) return;
  const std::vector<double> was = softmax(before, position), is = softmax(after, position);
  for (const TrialWord& word : trial.words) {
    EXPECT_NEAR(word.as_it_is, was[static_cast<std::size_t>(word.id)], 1e-4);
    EXPECT_NEAR(word.edited, is[static_cast<std::size_t>(word.id)], 1e-4);
  }
}

TEST_P(TrialOf, AHeadLessIsARunInWhichItGivesZeros) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  for (const SessionStack& stack : session.stacks) {
    const Place place{stack.shape.stack, 1, 1};
    for (std::int64_t position = 0; position < std::ssize(session.tokens); ++position) {
      ByHand zero(place);
      expect_second_run(session, model, {.ablate = {place}}, position, zero);
    }
  }
}

TEST_P(TrialOf, AnEdgeLessIsARunInWhichItIsMasked) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  for (const SessionStack& stack : session.stacks) {
    const Place place{stack.shape.stack, 0, 0};
    const MatrixSize size = session.at(place).size();
    const std::int64_t query = size.queries - 1, key = size.keys - 2;
    ByHand masked(place);
    masked.seen = Tensor::zeros({stack.shape.heads, size.queries, size.keys}, DType::kU8);
    std::fill_n(masked.seen.data<std::uint8_t>(), masked.seen.element_count(), 1);
    masked.seen.data<std::uint8_t>()[query * size.keys + key] = 0;
    expect_second_run(session, model, {.remove = {{place, query, key}}},
                      std::ssize(session.tokens) - 1, masked);
  }
}

}  // namespace
}  // namespace heed
