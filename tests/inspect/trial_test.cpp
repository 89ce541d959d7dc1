// Compares a trial of an edit with a real second run made by hand.
#include "inspect/evidence/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "heed/mask.h"
#include "heed/model.h"
#include "inspect/session/session_input.h"
#include "io/tensor_files.h"
#include "support/family_sessions.h"
#include "support/scratch.h"
#include "support/tiny_configs.h"

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
    return seen.given() && stack == place.stack && layer == place.layer ? Mask::keep(seen) : Mask();
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

TEST_P(TrialOf, AnEditOfASourceIsSeenWhereTheLikeliestWordChangesMost) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  if (!session.info.reads_source()) return;
  const Place place{Stack::kEncoder, 1, 1};
  EXPECT_EQ(tried_position(session, Stack::kEncoder, 5), std::nullopt);
  EXPECT_EQ(tried_position(session, Stack::kCross, 2), 2);
  ByHand zero(place);
  const Tensor before = pass_over(session, model, {.all_positions = true});
  const Tensor after = pass_over(session, model, {.tap = &zero, .all_positions = true});
  std::vector<double> changes;
  for (std::int64_t row = 0; row < before.dim(0); ++row) {
    const std::vector<double> was = softmax(before, row), is = softmax(after, row);
    const auto word = static_cast<std::size_t>(std::ranges::max_element(was) - was.begin());
    changes.push_back(std::abs(is[word] - was[word]));
  }
  const Trial trial = try_edits(session, model, {.ablate = {place}}, {}, 1);
  EXPECT_EQ(trial.position, std::ranges::max_element(changes) - changes.begin());
  EXPECT_GT(changes[static_cast<std::size_t>(trial.position)], 1e-4);
  EXPECT_NEAR(std::abs(trial.words.at(0).edited - trial.words.at(0).as_it_is),
              changes[static_cast<std::size_t>(trial.position)], 1e-5);
  EXPECT_FALSE(trial.text_moved);
}

// An encoder whose file holds no words.
LoadedModel sentence_encoder(const test::Scratch& scratch) {
  const auto model =
      make_model(R"({"model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 2,
    "hidden_size": 8, "intermediate_size": 12, "max_position_embeddings": 16, "vocab_size": 11})",
                 1);
  test::sharpen(*model);
  save_model(scratch.folder(), *model, nullptr, DType::kF32);
  std::vector<NamedView> tensors;
  for (const Parameter* parameter : model->parameters())
    if (!parameter->name.starts_with("cls."))
      tensors.push_back({parameter->name, parameter->value});
  write_safetensors(scratch / "model.safetensors", tensors);
  return load_model(scratch.folder());
}

TEST(Trial, OfAnEncoderWithoutWordsSaysHowFarTheVectorOfTheTextMoved) {
  const test::Scratch scratch;
  const LoadedModel model = sentence_encoder(scratch);
  ASSERT_FALSE(model.model->info().has_logits);
  const Session session = test::family_session(model);
  const Place place{Stack::kSelf, 1, 1};
  const auto vector_of = [&](Tap* tap) {  // the mean of all states, of length 1
    const Tensor states = pass_over(session, model, {.tap = tap, .all_positions = true});
    std::vector<double> mean(8);
    for (std::int64_t at = 0; at < states.element_count(); ++at)
      mean[static_cast<std::size_t>(at % 8)] += states.data<float>()[at];
    const double length = std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.));
    for (double& value : mean) value /= length;
    return mean;
  };
  ByHand zero(place);
  const std::vector<double> was = vector_of(nullptr), is = vector_of(&zero);
  double difference = 0;
  for (std::size_t at = 0; at < was.size(); ++at) difference += std::pow(is[at] - was[at], 2);
  const Trial trial = try_edits(session, model, {.ablate = {place}}, 3, 4);
  EXPECT_TRUE(trial.words.empty());
  const double moved = trial.text_moved.value_or(0);
  EXPECT_NEAR(moved, std::sqrt(difference), 1e-5);
  EXPECT_GT(moved, 1e-4);
}

}  // namespace
}  // namespace heed
