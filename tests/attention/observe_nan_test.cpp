// NaN weights appear in every answer; an observer can be reused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/mask.h"
#include "heed/observe.h"

namespace heed {
namespace {

// Four tokens of size 1 with all numbers 0, causal; the last two rows see a NaN key.
class NanKey : public testing::Test {
 protected:
  Tensor q = Tensor::zeros({1, 1, 4, 1});
  Tensor k = Tensor::zeros({1, 1, 4, 1});
  Tensor v = Tensor::zeros({1, 1, 4, 1});

  void watch(Observer& observer) {
    k.data<float>()[2] = std::numeric_limits<float>::quiet_NaN();
    const AttentionArgs args = {.q = q, .keys = {k, v}, .mask = Mask::causal()};
    Observer* const observers[] = {&observer};
    observe(args, attention(args), observers);
  }
};

TEST_F(NanKey, IsTheLargestWeightOfItsRows) {
  RowMaxObserver largest;
  watch(largest);
  EXPECT_EQ(largest.maximum.data<float>()[0], 1.0F);
  EXPECT_EQ(largest.maximum.data<float>()[1], 0.5F);
  EXPECT_TRUE(std::isnan(largest.maximum.data<float>()[2]));
  EXPECT_TRUE(std::isnan(largest.maximum.data<float>()[3]));
}

TEST_F(NanKey, StandsAmongTheTopKeysOfItsRows) {
  TopKObserver top(2);
  watch(top);
  EXPECT_EQ(top.keys.data<std::int64_t>()[0], 0);
  EXPECT_EQ(top.keys.data<std::int64_t>()[1], -1);
  EXPECT_EQ(top.keys.data<std::int64_t>()[4], 0);
  EXPECT_EQ(top.keys.data<std::int64_t>()[5], 1);
  EXPECT_TRUE(std::isnan(top.weights.data<float>()[4]));
}

TEST_F(NanKey, ShowsInItsCellsOfAHeatmapOfMaxima) {
  HeatmapObserver map(2, 2, Pool::kMax);
  watch(map);
  EXPECT_EQ(map.cells.data<float>()[0], 1.0F);
  EXPECT_TRUE(std::isnan(map.cells.data<float>()[2]));
  EXPECT_TRUE(std::isnan(map.cells.data<float>()[3]));
}

TEST(Entropy, IsNeverBelowZero) {
  Tensor q = Tensor::zeros({1, 1, 1, 1});
  const Tensor k = Tensor::zeros({1, 1, 1, 1});
  const AttentionArgs args = {.q = q, .keys = {k, k}};
  Attended attended = attention(args);
  attended.lse.data<float>()[0] = -1e-6F;  // as if rounding had taken a little
  EntropyObserver spread;
  Observer* const observers[] = {&spread};
  observe(args, attended, observers);
  EXPECT_EQ(spread.entropy.data<float>()[0], 0.0F);
}

TEST(Observe, AnObserverMayBeAskedAboutAnotherShape) {
  SelectionObserver region;
  HeatmapObserver map(8, 8);
  for (const std::int64_t length : {3, 5, 2}) {
    const Tensor x = Tensor::zeros({1, 1, length, 2});
    const AttentionArgs args = {.q = x, .keys = {x, x}};
    Observer* const observers[] = {&region, &map};
    observe(args, attention(args), observers);
    EXPECT_EQ(region.values.shape(), (Shape{1, 1, length, length}));
    EXPECT_EQ(map.cells.shape(), (Shape{1, 1, length, length}));
  }
}

}  // namespace
}  // namespace heed
