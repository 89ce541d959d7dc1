#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"
#include "support/expect_error.h"

namespace heed {
namespace {

class SelectionObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, SelectionObserved, observed_types(), type_name);

TEST_P(SelectionObserved, ARegionOfScoresIsMinusInfinityWhereMasked) {
  SelectionObserver observer({.head_begin = 1,
                              .head_end = 3,
                              .row_begin = 60,
                              .row_end = 70,
                              .key_begin = 50,
                              .key_end = 140},
                             ObservedValue::kScores);
  watch({&observer});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, 2, 10, 90}));
  const float* found = observer.values.data<float>();
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 1; h < 3; ++h)
      for (std::int64_t i = 60; i < 70; ++i)
        for (std::int64_t j = 50; j < 140; ++j, ++found) {
          const double expected = score(b, h, i, j);
          if (std::isinf(expected)) {
            ASSERT_EQ(*found, static_cast<float>(expected));
          } else {
            ASSERT_NEAR(*found, expected, 1e-5);
          }
        }
}

TEST_P(SelectionObserved, ARegionOfOneBatchHoldsThatOneAlone) {
  SelectionObserver observer({.head_begin = 3, .batch_begin = 1});
  watch({&observer});
  ASSERT_EQ(observer.values.shape(), (Shape{1, 1, kQueries, kKeys}));
  const float* found = observer.values.data<float>();
  for (std::int64_t i = 0; i < kQueries; ++i)
    for (std::int64_t j = 0; j < kKeys; ++j) ASSERT_NEAR(*found++, weight(1, 3, i, j), 1e-6);
}

TEST_P(SelectionObserved, ChosenRowsOfChosenHeads) {
  SelectionObserver observer(Selection{.heads = {{0, 3}}, .rows = {{2, 100, 149}}});
  watch({&observer});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, 2, 3, kKeys}));
  const float* found = observer.values.data<float>();
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (const std::int64_t h : {0, 3})
      for (const std::int64_t i : {2, 100, 149})
        for (std::int64_t j = 0; j < kKeys; ++j)
          ASSERT_NEAR(*found++, weight(b, h, i, j), 1e-6) << b << h << i << j;
}

TEST_P(SelectionObserved, ChosenKeysAsAllRowsSeeThem) {
  SelectionObserver observer(Selection{.keys = {{3, 7, 169}}}, ObservedValue::kScores);
  watch({&observer});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, kHeads, kQueries, 3}));
  const float* found = observer.values.data<float>();
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i)
        for (const std::int64_t j : {3, 7, 169}) {
          const double expected = score(b, h, i, j);
          if (std::isinf(expected)) {
            ASSERT_EQ(*found++, static_cast<float>(expected));
          } else {
            ASSERT_NEAR(*found++, expected, 1e-5);
          }
        }
}

TEST_P(SelectionObserved, WithoutAChoiceItIsTheWholeMatrix) {
  SelectionObserver observer;
  watch({&observer});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, kHeads, kQueries, kKeys}));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i)
        for (std::int64_t j = 0; j < kKeys; ++j)
          ASSERT_NEAR(observer.values.data<float>()[flat(b, h, i, j)], weight(b, h, i, j), 1e-6);
}

TEST_P(SelectionObserved, AnIndexThatDoesNotExistOrDoesNotRiseIsNamed) {
  const auto refused = [&](const Selection& selection, const char* message) {
    SelectionObserver observer(selection);
    EXPECT_HEED_ERROR(watch({&observer}), ErrorCode::kInvalidArgument, message);
  };
  refused({.heads = {{1, 4}}}, "selection: heads is 4, expected 0 to 3 (4 heads)");
  refused({.rows = {{-1}}}, "selection: rows is -1, expected 0 to 149 (150 queries)");
  refused({.keys = {{170}}}, "selection: keys is 170, expected 0 to 169 (170 keys)");
  refused({.batches = {{2}}}, "selection: batches is 2, expected 0 to 1 (2 sequences)");
  refused({.rows = {{5, 5}}}, "selection: rows is 5 before 5, expected rising indices");
}

TEST_P(SelectionObserved, ARangeThatDoesNotFitIsNamed) {
  const auto refused = [&](const Region& region, const char* message) {
    SelectionObserver observer(region);
    EXPECT_HEED_ERROR(watch({&observer}), ErrorCode::kInvalidArgument, message);
  };
  refused({.batch_begin = 1, .batch_end = 3}, "region: batches is [1, 3), expected at most [0, 2)");
  refused({.batch_begin = -1}, "region: batches is [-1, 2), expected at most [0, 2)");
  refused({.batch_begin = 2, .batch_end = 1}, "region: batches is [2, 1), expected at most [0, 2)");
  refused({.head_end = 5}, "region: heads is [0, 5), expected at most [0, 4)");
  refused({.row_begin = 151}, "region: rows is [151, 150), expected at most [0, 150)");
  refused({.key_begin = 9, .key_end = 171}, "region: keys is [9, 171), expected at most [0, 170)");
}

TEST_P(SelectionObserved, ScoresBeforeTheMaskAreDefinedAtEveryPair) {
  for (const ObservedValue stage :
       {ObservedValue::kBeforeSoftcap, ObservedValue::kBeforeBias, ObservedValue::kBeforeMask}) {
    SelectionObserver observer(Selection{}, stage);
    watch({&observer});
    const float* found = observer.values.data<float>();
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t i = 0; i < kQueries; ++i)
          for (std::int64_t j = 0; j < kKeys; ++j, ++found) {
            if (i < query_length(b) && j < key_length(b)) {
              ASSERT_NEAR(*found, dot(b, h, i, j), 1e-5) << b << " " << h << " " << i << " " << j;
            } else {
              ASSERT_EQ(*found, -std::numeric_limits<float>::infinity());
            }
          }
  }
}

// One pair with all stages: 2 * 3 = 6, capped to 4 tanh(6 / 4), biased by 1.
TEST(Selection, HoldsEveryStageOfAScore) {
  Tensor q = Tensor::zeros({1, 1, 1, 1});
  q.data<float>()[0] = 2;
  Tensor k = Tensor::zeros({1, 1, 2, 1});
  k.data<float>()[0] = 3;
  Tensor bias = Tensor::zeros({1, 2});
  bias.data<float>()[0] = 1;
  bias.data<float>()[1] = -std::numeric_limits<float>::infinity();
  const AttentionArgs args = {
      .q = q, .keys = {k, k}, .scores = {.scale = {1}, .softcap = 4, .bias = bias}};
  const auto stage = [&](ObservedValue value) {
    SelectionObserver region(Selection{}, value);
    Observer* const observers[] = {&region};
    observe(args, attention(args), observers);
    return std::array{region.values.data<float>()[0], region.values.data<float>()[1]};
  };
  const float capped = 4 * std::tanh(6.0F / 4);
  EXPECT_EQ(stage(ObservedValue::kBeforeSoftcap)[0], 6);
  EXPECT_NEAR(stage(ObservedValue::kBeforeBias)[0], capped, 1e-6);
  EXPECT_NEAR(stage(ObservedValue::kBeforeMask)[0], capped + 1, 1e-6);
  EXPECT_NEAR(stage(ObservedValue::kScores)[0], capped + 1, 1e-6);
  EXPECT_EQ(stage(ObservedValue::kWeights)[0], 1);
  EXPECT_EQ(stage(ObservedValue::kBeforeBias)[1], 0);
  EXPECT_EQ(stage(ObservedValue::kBeforeMask)[1], -std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace heed
