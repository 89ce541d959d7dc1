#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"

namespace heed {
namespace {

class ReceivedObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, ReceivedObserved, observed_types(), type_name);

TEST_P(ReceivedObserved, ReceivedIsTheSumOfAColumn) {
  ReceivedObserver observer;
  watch({&observer});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t j = 0; j < kKeys; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < kQueries; ++i) sum += weight(b, h, i, j);
        ASSERT_NEAR(observer.received.data<float>()[(b * kHeads + h) * kKeys + j], sum, 1e-5);
      }
}

TEST_P(ReceivedObserved, MaySumOverHeads) {
  ReceivedObserver observer(OverHeads::kSum);
  watch({&observer});
  ASSERT_EQ(observer.received.shape(), (Shape{kBatch, kKeys}));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t j = 0; j < kKeys; ++j) {
      double sum = 0;
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t i = 0; i < kQueries; ++i) sum += weight(b, h, i, j);
      ASSERT_NEAR(observer.received.data<float>()[b * kKeys + j], sum, 1e-5);
    }
}

}  // namespace
}  // namespace heed
