#include "heed/ops/observers/region.h"

#include <gtest/gtest.h>

#include "ops/observers/observed.h"
#include "support/expect_error.h"

namespace heed {
namespace {

class RegionObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, RegionObserved, observed_types(), type_name);

TEST_P(RegionObserved, ARegionOfScoresIsMinusInfinityWhereMasked) {
  RegionObserver observer({.head_begin = 1,
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

TEST_P(RegionObserved, ARegionOfOneBatchHoldsThatOneAlone) {
  RegionObserver observer({.head_begin = 3, .batch_begin = 1});
  watch({&observer});
  ASSERT_EQ(observer.values.shape(), (Shape{1, 1, kQueries, kKeys}));
  const float* found = observer.values.data<float>();
  for (std::int64_t i = 0; i < kQueries; ++i)
    for (std::int64_t j = 0; j < kKeys; ++j) ASSERT_NEAR(*found++, weight(1, 3, i, j), 1e-6);
}

TEST_P(RegionObserved, ARangeThatDoesNotFitIsNamed) {
  const auto refused = [&](const Region& region, const char* message) {
    RegionObserver observer(region);
    EXPECT_HEED_ERROR(watch({&observer}), ErrorCode::kInvalidArgument, message);
  };
  refused({.batch_begin = 1, .batch_end = 3}, "region: batches is [1, 3), expected at most [0, 2)");
  refused({.batch_begin = -1}, "region: batches is [-1, 2), expected at most [0, 2)");
  refused({.batch_begin = 2, .batch_end = 1}, "region: batches is [2, 1), expected at most [0, 2)");
  refused({.head_end = 5}, "region: heads is [0, 5), expected at most [0, 4)");
  refused({.row_begin = 151}, "region: rows is [151, 150), expected at most [0, 150)");
  refused({.key_begin = 9, .key_end = 171}, "region: keys is [9, 171), expected at most [0, 170)");
}

TEST_P(RegionObserved, ScoresBeforeTheMaskAreDefinedAtEveryPair) {
  for (const ObservedValue stage :
       {ObservedValue::kBeforeSoftcap, ObservedValue::kBeforeBias, ObservedValue::kBeforeMask}) {
    RegionObserver observer({}, stage);
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
TEST(Region, HoldsEveryStageOfAScore) {
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
    RegionObserver region({}, value);
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
