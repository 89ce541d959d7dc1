#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"

namespace heed {
namespace {

class OffsetProfileObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, OffsetProfileObserved, observed_types(), type_name);

TEST_P(OffsetProfileObserved, TheOffsetProfileIsTheMeanOverVisiblePairs) {
  OffsetProfileObserver observer(-2, 40);
  watch({&observer});
  ASSERT_EQ(observer.mean.shape(), (Shape{kBatch, kHeads, 43}));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t d = -2; d <= 40; ++d) {
        double sum = 0;
        std::int64_t pairs = 0;
        for (std::int64_t i = 0; i < kQueries; ++i) {
          const std::int64_t j = offset(b) + i - d;
          if (j < 0 || !visible(b, h, i, j)) continue;
          sum += weight(b, h, i, j);
          ++pairs;
        }
        const std::int64_t at = (b * kHeads + h) * 43 + d + 2;
        ASSERT_EQ(observer.pairs.data<std::int64_t>()[at], pairs);
        ASSERT_NEAR(observer.mean.data<float>()[at], pairs == 0 ? 0 : sum / double(pairs), 1e-6);
      }
}

}  // namespace
}  // namespace heed
