#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"

namespace heed {
namespace {

class HeatmapObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, HeatmapObserved, observed_types(), type_name);

TEST_P(HeatmapObserved, AHeatmapPoolsItsCells) {
  const Region region = {
      .head_begin = 1, .head_end = 2, .row_begin = 10, .row_end = 140, .key_begin = 3};
  HeatmapObserver largest(7, 13, Pool::kMax, region);
  HeatmapObserver mean(7, 13, Pool::kMean, region);
  HeatmapObserver fine(1000, 1000, Pool::kSum, region);
  watch({&largest, &mean, &fine});
  ASSERT_EQ(largest.cells.shape(), (Shape{kBatch, 1, 7, 13}));
  ASSERT_EQ(fine.cells.shape(), (Shape{kBatch, 1, 130, kKeys - 3}));
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t y = 0; y < 7; ++y)
      for (std::int64_t x = 0; x < 13; ++x) {
        double top = 0;
        double sum = 0;
        std::int64_t count = 0;
        for (std::int64_t i = 10 + y * 130 / 7; i < 10 + (y + 1) * 130 / 7; ++i)
          for (std::int64_t j = 3 + x * 167 / 13; j < 3 + (x + 1) * 167 / 13; ++j, ++count) {
            top = std::max(top, weight(b, 1, i, j));
            sum += weight(b, 1, i, j);
          }
        const std::int64_t at = (b * 7 + y) * 13 + x;
        ASSERT_NEAR(largest.cells.data<float>()[at], top, 1e-6);
        ASSERT_NEAR(mean.cells.data<float>()[at], sum / double(count), 1e-6);
      }
    for (std::int64_t i = 0; i < 130; ++i)
      for (std::int64_t j = 0; j < 167; ++j)
        ASSERT_NEAR(fine.cells.data<float>()[(b * 130 + i) * 167 + j], weight(b, 1, i + 10, j + 3),
                    1e-6);
  }
}

TEST_P(HeatmapObserved, AHeatmapOfOneBatchIsThatOfAll) {
  HeatmapObserver both(9, 9, Pool::kSum);
  HeatmapObserver second(9, 9, Pool::kSum, {.batch_begin = 1, .batch_end = 2});
  watch({&both, &second});
  ASSERT_EQ(second.cells.shape(), (Shape{1, kHeads, 9, 9}));
  EXPECT_TRUE(std::ranges::equal(std::span(second.cells.data<float>(), kHeads * 81),
                                 std::span(both.cells.data<float>() + kHeads * 81, kHeads * 81)));
}

}  // namespace
}  // namespace heed
