#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"

namespace heed {
namespace {

class HeadMeanObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, HeadMeanObserved, observed_types(), type_name);

TEST_P(HeadMeanObserved, IsTheMeanOverTheHeadsOfARegion) {
  HeadMeanObserver observer({.head_begin = 1, .head_end = 4, .row_begin = 60, .key_begin = 50});
  watch({&observer});
  ASSERT_EQ(observer.mean.shape(), (Shape{kBatch, 90, 120}));
  const float* found = observer.mean.data<float>();
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t i = 60; i < kQueries; ++i)
      for (std::int64_t j = 50; j < kKeys; ++j)
        ASSERT_NEAR(*found++, (weight(b, 1, i, j) + weight(b, 2, i, j) + weight(b, 3, i, j)) / 3,
                    1e-6);
}

TEST_P(HeadMeanObserved, OfOneBatchIsThatOfAll) {
  HeadMeanObserver both;
  HeadMeanObserver second({.batch_begin = 1, .batch_end = 2});
  watch({&both, &second});
  ASSERT_EQ(second.mean.shape(), (Shape{1, kQueries, kKeys}));
  EXPECT_TRUE(
      std::ranges::equal(std::span(second.mean.data<float>(), kQueries * kKeys),
                         std::span(both.mean.data<float>() + kQueries * kKeys, kQueries * kKeys)));
}

}  // namespace
}  // namespace heed
