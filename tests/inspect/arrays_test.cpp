// Sessions of arrays computed elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/mask.h"
#include "heed/session.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/answers/view.h"
#include "inspect/choice.h"
#include "inspect/evidence/flow.h"
#include "inspect/map/margins.h"
#include "inspect/saved/held.h"
#include "inspect/saved/saved_page.h"
#include "inspect/session/carried.h"
#include "inspect/session/visible_keys.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;

constexpr std::int64_t kQueries = 5, kKeys = 9;

struct Arrays {
  Tensor q = random_tensor({1, 4, kQueries, 8}, 1);
  Tensor k = random_tensor({1, 2, kKeys, 8}, 2);
  Tensor v = random_tensor({1, 2, kKeys, 8}, 3);

  LayerArrays layer() const { return {.args = {.q = q, .keys = {.k = k, .v = v}}}; }
  SessionArrays cross() const {
    return {.name = "mine", .stacks = {{Stack::kCross, {layer(), layer()}}}};
  }
};

TEST(ArraySession, AnswersForARectangularStackByItsName) {
  const Arrays arrays;
  const Session session = open_session(arrays.cross());
  EXPECT_EQ(session.tokens.size(), kQueries);
  EXPECT_EQ(session.key_tokens.size(), kKeys);
  EXPECT_EQ(session.keys(Stack::kCross)[3].bytes, "#3");
  const LayerAttention& layer = session.at({Stack::kCross, 1, 3});
  double sum = 0;
  const std::vector<LookRow> rows = look_rows(layer, 3, {}, -1);
  for (const LookKey& key : rows.at(4).attends) sum += key.weight;
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_HEED_ERROR(session.at({Stack::kSelf, 0, 0}), ErrorCode::kNotFound,
                    "session: stack is self, expected cross (mine has no other)");
  EXPECT_HEED_ERROR(session.at({Stack::kCross, 2, 0}), ErrorCode::kNotFound,
                    "session: layer is 2, expected 0 to 1 (mine has 2 layers)");
}

TEST(ArraySession, TheRowsOfAHeadWithNanHaveNoSum) {
  Arrays arrays;
  arrays.q.data<float>()[2 * 8] = std::nanf("");  // head 0, query 2
  const Session session = open_session(arrays.cross());
  const LayerAttention& layer = session.at({Stack::kCross, 0, 0});
  MarginsSweep sweep;
  std::vector<Observer*> observers;
  sweep.add_to(observers);
  observe(layer.args(), layer.attended(), observers);
  EXPECT_FALSE(sweep.margins(0).row_sum_error.has_value());
  EXPECT_LT(sweep.margins(1).row_sum_error.value_or(1), 1e-5);
}

TEST(ArraySession, TheLogSumExpIsThatOfTheAttentionToTheBit) {
  const Arrays arrays;
  const Session session = open_session(arrays.cross());
  const Attended whole = attention(arrays.layer().args);
  const LayerAttention& layer = session.at({Stack::kCross, 0, 0});
  EXPECT_TRUE(test::same_bits(layer.lse, whole.lse));
  EXPECT_TRUE(test::same_bits(layer.lse_low, whole.lse_low));
}

TEST(ArraySession, ACellsRankIsItsPlaceInTheSortedRow) {
  const Arrays arrays;
  const Session session = open_session(arrays.cross());
  const LayerAttention& layer = session.at({Stack::kCross, 0, 1});
  const std::vector<LookKey> sorted = look_rows(layer, 1, {}, -1).at(2).attends;
  ASSERT_EQ(sorted.size(), kKeys);
  for (std::int64_t place = 0; place < kKeys; ++place) {
    const LookCell cell = look_cell(layer, 1, 2, sorted[static_cast<std::size_t>(place)].key);
    EXPECT_EQ(cell.rank, place + 1);
    EXPECT_EQ(cell.of, kKeys);
    EXPECT_EQ(cell.others.size(), 2);
  }
}

TEST(ArraySession, MeasuresItsValuesOnce) {
  const Arrays arrays;
  const Session session = open_session(arrays.cross());
  const Tensor& lengths = session.at({Stack::kCross, 1, 0}).write_lengths;
  ASSERT_EQ(lengths.shape(), (Shape{4, kKeys}));
  const float* const value = arrays.v.data<float>() + (kKeys + 3) * 8;  // key 3 of kv head 1
  const double length = std::sqrt(std::inner_product(value, value + 8, value, 0.0));
  for (const int head : {2, 3}) EXPECT_NEAR(lengths.data<float>()[head * kKeys + 3], length, 1e-6);
}

TEST(ArraySession, TakesTheLseThatIsGivenAndElseComputesIt) {
  const Arrays arrays;
  const Attended attended = attention(arrays.layer().args);
  SessionArrays given = arrays.cross();
  given.stacks[0].layers[0].lse = attended.lse;
  const Session session = open_session(given);
  for (const int layer : {0, 1}) {
    const LookCell cell = look_cell(session.at({Stack::kCross, layer, 2}), 2, 4, 7);
    EXPECT_NEAR(cell.weight, std::exp(cell.score - cell.lse), 1e-6) << layer;
    EXPECT_NEAR(cell.lse, attended.lse.data<float>()[2 * kQueries + 4], 1e-5) << layer;
  }
}

TEST(ArraySession, LooksAtItsFirstStack) {
  const Session session = open_session(Arrays().cross());
  const Look shown = look(session, {});
  EXPECT_EQ(shown.chosen.stack, Stack::kCross);
  EXPECT_EQ(shown.rows.size(), kQueries);
  EXPECT_EQ(shown.keys().size(), kKeys);
  EXPECT_EQ(shown.heads.size(), 8);
}

TEST(ArraySession, SaysWhichArrayIsWrong) {
  const Arrays arrays;
  SessionArrays wrong = arrays.cross();
  wrong.stacks[0].layers[1].args.keys.v = {};
  EXPECT_HEED_ERROR(open_session(wrong), ErrorCode::kInvalidArgument,
                    "session: cross layer 1: v is not given, expected an f32 array [1, heads, "
                    "length, size]");
  wrong = arrays.cross();
  wrong.tokens = {"a", "b"};
  EXPECT_HEED_ERROR(open_session(wrong), ErrorCode::kInvalidArgument,
                    "session: tokens is a list of 2, expected none, or 5");
  EXPECT_HEED_ERROR(open_session(SessionArrays{}), ErrorCode::kInvalidArgument,
                    "session: stacks is empty, expected at least one");
}

// Weights alone: 1/4 and 3/4 in each row, as logarithms that are the bias.
struct Weights {
  Tensor q = Tensor::zeros({1, 1, 2, 1}, DType::kF32);
  Tensor v = Tensor::zeros({1, 1, 2, 0}, DType::kF32);
  Tensor lse = Tensor::zeros({1, 1, 2}, DType::kF32);
  Tensor bias = Tensor::zeros({1, 1, 2, 2}, DType::kF32);

  Weights() {
    for (int at = 0; at < 4; ++at) bias.data<float>()[at] = std::log(at % 2 == 0 ? 0.25F : 0.75F);
  }

  SessionArrays arrays() const {
    LayerArrays layer = {.args = {.q = q, .keys = {.k = q, .v = v}}, .lse = lse};
    layer.args.scores.bias = bias;
    return {.stacks = {{Stack::kSelf, {layer}}}, .only_weights = true};
  }
};

TEST(ArraySession, ScoresOfWeightsAloneHaveNoParts) {
  const Weights weights;
  const LiveSession live("weights", {}, open_session(weights.arrays()));
  EXPECT_TRUE(has_only_weights(live.session()));
  EXPECT_FALSE(has_only_weights(open_session(Arrays().cross())));
  EXPECT_NEAR(look_cell(live.layer({}), 0, 1, 1).weight, 0.75, 1e-6);
  Cancel cancel;
  const auto said = [](const char* op) {
    return std::string(op) +
           ": a session of weights alone, expected q and k, of which scores are made";
  };
  EXPECT_HEED_ERROR(answer_why(live, {}), ErrorCode::kUnsupported, said("why"));
  EXPECT_HEED_ERROR(answer_anatomy(live, {}), ErrorCode::kUnsupported, said("anatomy"));
  EXPECT_HEED_ERROR(answer_dimensions(live, {}, cancel), ErrorCode::kUnsupported,
                    said("dimensions"));
  EXPECT_HEED_ERROR(answer_geometry(live, {}, cancel), ErrorCode::kUnsupported, said("geometry"));
}

TEST(ArraySession, WithoutValuesNothingIsSaidOfWhatTheyCarry) {
  const Weights weights;
  const Session session = open_session(weights.arrays());
  const HeadScores scores = score_heads(session, Stack::kSelf, 0).at(0);
  EXPECT_TRUE(std::isnan(scores.of("value_weighted")));
  EXPECT_TRUE(std::isnan(scores.of("value_sink")));
  EXPECT_NEAR(scores.of("sink"), 0.25, 1e-6);
  EXPECT_HEED_ERROR(carried(session.at(Place{})), ErrorCode::kUnsupported,
                    "session: carried is asked for, expected values: this session has none");
}

TEST(ArraySession, OfAPairIsSplitAtItsSecondText) {
  const Weights weights;
  SessionArrays arrays = weights.arrays();
  arrays.split = 1;
  const Session session = open_session(arrays);
  EXPECT_EQ(session.split, 1);
  EXPECT_EQ(session.tokens[0].text, 0);
  EXPECT_EQ(session.tokens[1].text, 1);
  arrays.split = 2;
  EXPECT_HEED_ERROR(open_session(arrays), ErrorCode::kInvalidArgument,
                    "session: split is 2, expected 1 to 1: the first token of the second text");
}

// A model with attention in layers 1 and 3 of four.
Session hybrid() {
  const Arrays arrays;
  LayerArrays layer{.args = {.q = arrays.k, .keys = {.k = arrays.k, .v = arrays.v}}};
  layer.args.mask = Mask::causal();
  return open_session({.name = "mine", .stacks = {{Stack::kSelf, {{}, layer, {}, layer}}}});
}

TEST(LayersWithoutAttention, KeepTheirNumbers) {
  const Session session = hybrid();
  EXPECT_EQ(session.stacks[0].shape.layers, 4);
  EXPECT_EQ(session.stacks[0].shape.attending, (std::vector<int>{1, 3}));
  EXPECT_TRUE(session.at({Stack::kSelf, 3, 0}).is_kept());
  const char* const message =
      "session: layer is 2, expected 1, 3: the layers of mine that have attention";
  EXPECT_HEED_ERROR(session.at({Stack::kSelf, 2, 0}), ErrorCode::kNotFound, message);
  EXPECT_HEED_ERROR(session.at({Stack::kSelf, 4, 0}), ErrorCode::kNotFound,
                    "session: layer is 4, expected 0 to 3 (mine has 4 layers)");
}

TEST(LayersWithoutAttention, HaveNoScoresAndAreNotChosen) {
  const Session session = hybrid();
  std::vector<int> scored;
  for (const HeadScores& head : score_heads(session))
    if (scored.empty() || scored.back() != head.place.layer) scored.push_back(head.place.layer);
  EXPECT_EQ(scored, (std::vector<int>{1, 3}));
  EXPECT_NE(look(session, {}).chosen.layer % 2, 0);
  const std::vector<std::int64_t> first = {0}, last = {8};  // an edge that no head sees
  EXPECT_EQ(choose_head_of_edge(session, first, last, {}, {}, {}).layer, 1);
}

TEST(LayersWithoutAttention, AreNoStepsOfAFlow) {
  const Session session = hybrid();
  std::vector<int> layers;
  for (const FlowStep& step : rollout_steps(session, Stack::kSelf).steps)
    layers.push_back(step.layer);
  EXPECT_EQ(layers, (std::vector<int>{3, 1}));
}

TEST(LayersWithoutAttention, ThePageKnows) {
  LiveSession live("hybrid", {}, hybrid(), nullptr);
  Overviews none_kept(0);
  while (live.work([] { return false; }, none_kept)) {
  }
  EXPECT_TRUE(live.progress().scored);
  EXPECT_EQ(live.layer_count(), 2);
  const HeadsAnswer heads = answer_heads(live, Stack::kSelf, {});
  EXPECT_EQ(heads.done, 2);
  EXPECT_EQ(heads.layers[1].layer, 3);
  EXPECT_NE(to_json(answer_session(live)).find("\"layers\":4,\"attending\":[1,3]"),
            std::string::npos);
  const auto held = choose_held(live.session(), parse_view("look/L3.H1"), kSavedBytes);
  EXPECT_THAT(held[0].layers, testing::ElementsAre(testing::IsEmpty(), testing::SizeIs(2),
                                                   testing::IsEmpty(), testing::SizeIs(2)));
  EXPECT_HEED_ERROR(check_view(parse_view("look/L0.H1"), live.session()), ErrorCode::kNotFound,
                    "view: layer is 0, expected 1, 3: the layers of mine that have attention");
}

TEST(LayersWithoutAttention, AreNotAllOfThem) {
  EXPECT_HEED_ERROR(open_session({.stacks = {{Stack::kSelf, {{}, {}}}}}),
                    ErrorCode::kInvalidArgument,
                    "session: layers is without a layer that has q, expected at least one of self");
}

TEST(VisibleKeys, SayWhetherAQueryLooksAhead) {
  const auto layer = [](std::int64_t queries, std::int64_t keys, const Mask& mask) {
    LayerAttention made;
    made.q = Tensor::zeros({1, 1, queries, 4});
    made.k = Tensor::zeros({1, 1, keys, 4});
    made.mask = mask;
    return made;
  };
  EXPECT_TRUE(is_causal(layer(130, 130, Mask::causal())));
  EXPECT_TRUE(is_causal(layer(130, 130, Mask::band({.left = 3, .right = 0}))));
  EXPECT_TRUE(is_causal(layer(3, 130, Mask::causal())));  // the queries are the last of the keys
  EXPECT_FALSE(is_causal(layer(130, 130, Mask::band({.left = 3, .right = 1}))));
  EXPECT_FALSE(is_causal(layer(130, 130, {})));
}

TEST(ArraySession, IsSharedWithoutACopyOfItsArrays) {
  const Arrays arrays;
  Session second;
  const float* q = nullptr;
  {
    const Session first = open_session(arrays.cross());
    second = shared(first);
    q = first.at({Stack::kCross, 1, 0}).q.data<float>();
  }
  const LayerAttention& layer = second.at({Stack::kCross, 1, 0});
  EXPECT_EQ(layer.q.data<float>(), q);
  EXPECT_EQ(layer.lse.dim(2), kQueries);
  EXPECT_EQ(second.key_tokens.size(), kKeys);
  EXPECT_EQ(look_rows(layer, 0, {}, 1).size(), kQueries);
}

}  // namespace
}  // namespace heed
