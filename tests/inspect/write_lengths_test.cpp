// What values write, and weights as what they carry, against a plain computation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/model.h"
#include "inspect/evidence/model_streams.h"
#include "inspect/patterns.h"
#include "inspect/session/carried.h"
#include "support/expect_error.h"
#include "support/family_sessions.h"
#include "support/shared_data.h"

namespace heed {
namespace {

// |W_O v| of one key of a head: the value goes through the whole projection, beside zeros.
double plain_length(const LoadedModel& model, const Session& session, const Place& place,
                    std::int64_t key) {
  const ModelParts parts = model.model->parts();
  const PlaceInStream at = find_place(parts, place);
  const LayerAttention& layer = session.at(place);
  const std::int64_t kv_head = place.head / (layer.q.dim(1) / layer.v.dim(1));
  const Tensor value =
      Tensor::copy_of(layer.v.view().select(0, 0).select(0, kv_head).slice(0, key, key + 1));
  const Tensor write = head_write(*at.stream->branches[at.branch].attention, place.head, value);
  const float* const begin = write.data<float>();
  return std::sqrt(std::inner_product(begin, begin + write.element_count(), begin, 0.0));
}

template <typename Use>  // use(place, layer)
void visit_heads(const Session& session, Use use) {
  for (const SessionStack& stack : session.stacks)
    for (int layer = 0; layer < stack.shape.layers; ++layer)
      for (int head = 0; head < stack.shape.heads; ++head) {
        const Place place = {stack.shape.stack, layer, head};
        use(place, session.at(place));
      }
}

void expect_plain_lengths(const LoadedModel& model, const Session& session) {
  visit_heads(session, [&](const Place& place, const LayerAttention& layer) {
    ASSERT_EQ(layer.write_lengths.shape(), (Shape{layer.q.dim(1), layer.keys()}));
    for (std::int64_t key = 0; key < layer.keys(); ++key) {
      const double expected = plain_length(model, session, place, key);
      const float found = layer.write_lengths.data<float>()[place.head * layer.keys() + key];
      EXPECT_NEAR(found, expected, 2e-6 * (1 + expected)) << place.layer << '.' << place.head;
    }
  });
}

class WritesOf : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, WritesOf, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });

// Sizes of heads are 4 to 8, so seven tokens go both ways: by the factor and by the writes.
TEST_P(WritesOf, LengthsAreThoseOfTheWholeProjection) {
  const LoadedModel model = test::family_model(GetParam());
  expect_plain_lengths(model, test::family_session(model));
}

TEST_P(WritesOf, AShareIsWhatTheWeightCarriesOfItsRow) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  visit_heads(session, [&](const Place& place, const LayerAttention& layer) {
    const LayerAttention shares = carried(layer);
    std::vector<std::vector<float>> found;
    visit_rows(shares, place.head, [&](std::int64_t, std::int64_t, auto row) {
      found.emplace_back(row.begin(), row.end());
    });
    visit_rows(layer, place.head, [&](std::int64_t, std::int64_t query, auto weights) {
      std::vector<double> writes;
      for (std::int64_t key = 0; key < layer.keys(); ++key)
        writes.push_back(weights[static_cast<std::size_t>(key)] *
                         plain_length(model, session, place, key));
      const double sum = std::accumulate(writes.begin(), writes.end(), 0.0);
      for (std::size_t key = 0; key < writes.size(); ++key)
        EXPECT_NEAR(found[static_cast<std::size_t>(query)][key], writes[key] / sum, 1e-5);
    });
  });
}

TEST_P(WritesOf, ScoresWeighByTheLengthsOfWrites) {
  const LoadedModel model = test::family_model(GetParam());
  const Session session = test::family_session(model);
  visit_heads(session, [&](const Place& place, const LayerAttention& layer) {
    double mean = 0, of_sink = 0;
    visit_rows(layer, place.head, [&](std::int64_t, std::int64_t query, auto weights) {
      double sum = 0;
      for (std::int64_t key = 0; key < layer.keys(); ++key)
        sum += weights[static_cast<std::size_t>(key)] * plain_length(model, session, place, key);
      mean += sum / static_cast<double>(layer.queries());
      if (query > 0 && sum > 0)
        of_sink += weights[0] * plain_length(model, session, place, 0) / sum /
                   static_cast<double>(layer.queries() - 1);
    });
    const HeadScores scores =
        score_heads(session, place.stack, place.layer)[static_cast<std::size_t>(place.head)];
    EXPECT_NEAR(scores.of("value_weighted"), mean, 1e-5 * (1 + mean));
    EXPECT_NEAR(scores.of("value_sink"), of_sink, 1e-5);
  });
}

// As they are loaded to run: packed, and of 16 bits.
TEST(WriteLengths, OfPackedWeightsAreTheSame) {
  HEED_NEEDS_SHARED("models/tiny/llama");
  const auto folder = test::shared_data() / "models/tiny/llama";
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const LoadedModel model =
        load_model(folder, {.tokenizers = false, .packed = true, .dtype = dtype});
    const std::vector<TokenId> ids(40, 3);
    expect_plain_lengths(model, open_session(model, ids));
  }
}

// Heads whose part of the projection has one direction: the others leave nothing.
TEST(WriteLengths, DirectionsThatTheProjectionLosesAreNothing) {
  const LoadedModel model = test::family_model(test::kFamilyVariants[0]);
  for (Parameter* parameter : model.model->parameters())
    if (parameter->name.find("attn.c_proj.weight") != std::string::npos)
      for (std::int64_t i = 0; i < 64; ++i)  // [H D, C], of 8 x 8: every row the same
        parameter->value.data<float>()[i] = static_cast<float>(i % 8) - 2.5F;
  expect_plain_lengths(model, test::family_session(model));
}

TEST(WriteLengths, OfArraysAreThoseOfTheValues) {
  LayerAttention layer =
      test::layer_of(1, 4, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  for (std::int64_t j = 0; j < 4; ++j) layer.v.data<float>()[j] = static_cast<float>(j) - 1;
  const Tensor lengths = lengths_carried(layer);
  EXPECT_THAT(std::vector(lengths.data<float>(), lengths.data<float>() + 4),
              testing::ElementsAre(1, 0, 1, 2));
  const LayerAttention shares = carried(layer);
  const LookCell last = look_cell(shares, 0, 3, 3);
  EXPECT_NEAR(last.weight, 2.0 / 4, 1e-6);
  EXPECT_NEAR(look_cell(shares, 0, 3, 1).weight, 0, 1e-6);
  const LookCell cell = look_cell(layer, 0, 3, 3);
  EXPECT_NEAR(cell.write_length, 2, 1e-6);
  EXPECT_NEAR(cell.carried, 2.0 / 4, 1e-6);
}

TEST(WriteLengths, ASinkWithoutAValueHasNoShare) {
  LayerAttention layer =
      test::layer_of(1, 4, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  for (std::int64_t j = 0; j < 4; ++j) layer.v.data<float>()[j] = 1;
  const Tensor sink = Tensor::zeros({1}, DType::kF32);
  layer.scores.sink = sink;
  layer.lse = attention(layer.args()).lse;
  EXPECT_NEAR(look_cell(layer, 0, 3, 0).weight, 1.0 / 5, 1e-6);
  EXPECT_NEAR(look_cell(carried(layer), 0, 3, 0).weight, 1.0 / 4, 1e-6);
}

TEST(WriteLengths, WeightsThatNoSoftmaxMadeAreNoShares) {
  LayerAttention layer =
      test::layer_of(1, 4, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  layer.scores.normaliser = Normaliser::kSigmoid;
  EXPECT_HEED_ERROR(carried(layer), ErrorCode::kUnsupported,
                    "session: carried is asked for, expected weights of a softmax: no others are "
                    "shares of a row");
}

}  // namespace
}  // namespace heed
