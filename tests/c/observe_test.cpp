// Every question of C gives the bits of the C++ observer that answers it.
#include "heed/observe.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "c/observed.h"

namespace heed::test {
namespace {

constexpr Region kRegion = {1, 3, 2, 7, 0, 11};

heed_region region_in_c() { return {1, 3, 2, 7, 0, 11}; }

heed_observation kind(int32_t number) { return heed_observation_of(number, heed_view{}); }

TEST_F(CObserve, Weights) {
  expect(SelectionObserver(), &SelectionObserver::values, kind(HEED_OBSERVE_WEIGHTS));
}

TEST_F(CObserve, EveryValueOfARegion) {
  heed_observation asked = kind(HEED_OBSERVE_REGION);
  asked.region = region_in_c();
  for (asked.value = HEED_VALUE_WEIGHTS; asked.value <= HEED_VALUE_BEFORE_MASK; ++asked.value)
    expect(SelectionObserver(kRegion, static_cast<ObservedValue>(asked.value)),
           &SelectionObserver::values, asked);
}

TEST_F(CObserve, ARegionOfZeroesIsEverything) {
  expect(SelectionObserver(), &SelectionObserver::values, kind(HEED_OBSERVE_REGION));
}

TEST_F(CObserve, ARegionOfOneBatch) {
  heed_observation asked = kind(HEED_OBSERVE_REGION);
  asked.batch_begin = 1;
  expect(SelectionObserver(Region{.batch_begin = 1}), &SelectionObserver::values, asked);
  asked.kind = HEED_OBSERVE_HEAD_MEAN;
  asked.batch_begin = 0;
  asked.batch_end = 1;
  expect(HeadMeanObserver({.batch_end = 1}), &HeadMeanObserver::mean, asked);
}

TEST_F(CObserve, RowsOfEveryHead) {
  heed_observation asked = kind(HEED_OBSERVE_ROWS);
  asked.chosen = {kChosen, 3};
  asked.value = HEED_VALUE_SCORES;
  expect(SelectionObserver(Selection{.rows = {{0, 5, 8}}}, ObservedValue::kScores),
         &SelectionObserver::values, asked);
}

TEST_F(CObserve, RowsOfChosenHeads) {
  heed_observation asked = kind(HEED_OBSERVE_ROWS);
  asked.chosen = {kChosen, 3};
  asked.heads = {kHeadsOfChosen, 3};
  expect(SelectionObserver(Selection{.heads = {{0, 1, 3}}, .rows = {{0, 5, 8}}}),
         &SelectionObserver::values, asked);
}

TEST_F(CObserve, Columns) {
  heed_observation asked = kind(HEED_OBSERVE_COLUMNS);
  asked.chosen = {kChosen, 3};
  asked.heads = {kHeadsOfChosen, 3};
  expect(SelectionObserver(Selection{.heads = {{0, 1, 3}}, .keys = {{0, 5, 8}}}),
         &SelectionObserver::values, asked);
  asked.heads = {};
  expect(SelectionObserver(Selection{.keys = {{0, 5, 8}}}), &SelectionObserver::values, asked);
}

TEST_F(CObserve, HeatmapsOfEveryPool) {
  heed_observation asked = kind(HEED_OBSERVE_HEATMAP);
  asked.height = 4;
  asked.width = 5;
  asked.region = region_in_c();
  for (asked.pool = HEED_POOL_MAX; asked.pool <= HEED_POOL_SUM; ++asked.pool)
    expect(HeatmapObserver(4, 5, static_cast<Pool>(asked.pool), kRegion), &HeatmapObserver::cells,
           asked);
}

TEST_F(CObserve, HeadMean) {
  heed_observation asked = kind(HEED_OBSERVE_HEAD_MEAN);
  asked.region = region_in_c();
  expect(HeadMeanObserver(kRegion), &HeadMeanObserver::mean, asked);
}

TEST_F(CObserve, NumbersOfARow) {
  expect(EntropyObserver(), &EntropyObserver::entropy, kind(HEED_OBSERVE_ENTROPY));
  expect(RowMaxObserver(), &RowMaxObserver::maximum, kind(HEED_OBSERVE_ROW_MAX));
  expect(SinkObserver(), &SinkObserver::share, kind(HEED_OBSERVE_SINK));
  expect(ExpectedDistanceObserver(), &ExpectedDistanceObserver::distance,
         kind(HEED_OBSERVE_EXPECTED_DISTANCE));
}

TEST_F(CObserve, TopKWithKeys) {
  heed_observation asked = kind(HEED_OBSERVE_TOP_K);
  asked.k = 3;
  expect(TopKObserver(3), &TopKObserver::weights, asked, &TopKObserver::keys);
  expect(TopKObserver(3), &TopKObserver::weights, asked);
}

TEST_F(CObserve, Received) {
  heed_observation asked = kind(HEED_OBSERVE_RECEIVED);
  expect(ReceivedObserver(), &ReceivedObserver::received, asked);
  asked.sum_heads = 1;
  expect(ReceivedObserver(OverHeads::kSum), &ReceivedObserver::received, asked);
}

TEST_F(CObserve, Mass) {
  heed_observation asked = kind(HEED_OBSERVE_MASS);
  asked.key_classes = {kClasses, 13};
  asked.classes = 3;
  expect(MassObserver({kClasses, kClasses + 13}, 3), &MassObserver::mass, asked);
}

TEST_F(CObserve, OffsetProfileWithPairs) {
  heed_observation asked = kind(HEED_OBSERVE_OFFSET_PROFILE);
  asked.first = -2;
  asked.last = 12;
  expect(OffsetProfileObserver(-2, 12), &OffsetProfileObserver::mean, asked,
         &OffsetProfileObserver::pairs);
}

TEST_F(CObserve, WeightsTimesValueNorms) {
  heed_observation asked = kind(HEED_OBSERVE_RECEIVED);
  asked.by_value_norm = 1;
  expect(ReceivedObserver(), &ReceivedObserver::received, asked);
}

TEST_F(CObserve, SeveralQuestionsInOneSweepThroughStrides) {
  EntropyObserver entropy;
  RowMaxObserver largest;
  std::array<Observer*, 2> observers = {&entropy, &largest};
  observe(each.args, left, observers);
  Tensor memory = Tensor::zeros({9, 4, 2});
  const View spread = memory.view().permute({2, 1, 0});
  const Tensor most = room_like(largest.maximum);
  const heed_observation first = heed_observation_of(HEED_OBSERVE_ENTROPY, as_c(spread));
  const heed_observation second = heed_observation_of(HEED_OBSERVE_ROW_MAX, as_c(most));
  const heed_observation* const asked[] = {&first, &second};
  const heed_attention_args args = each.in_c();
  const heed_attended attended = as_c(left);
  EXPECT_EQ(heed_observe(&args, &attended, asked, 2), HEED_OK) << heed_last_error()->message;
  EXPECT_TRUE(same_bits(spread, entropy.entropy));
  EXPECT_TRUE(same_bits(most, largest.maximum));
}

TEST_F(CObserve, NoQuestionIsNoWork) {
  const heed_attention_args args = each.in_c();
  const heed_attended attended = as_c(left);
  EXPECT_EQ(heed_observe(&args, &attended, nullptr, 0), HEED_OK);
}

}  // namespace
}  // namespace heed::test
