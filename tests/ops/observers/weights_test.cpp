#include "heed/ops/observers/weights.h"

#include <gtest/gtest.h>

#include "ops/observers/observed.h"

namespace heed {
namespace {

class WeightsObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, WeightsObserved, observed_types(), type_name);

TEST_P(WeightsObserved, WeightsAreTheWholeMatrix) {
  WeightsObserver observer;
  watch({&observer});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i)
        for (std::int64_t j = 0; j < kKeys; ++j)
          ASSERT_NEAR(observer.weights.data<float>()[flat(b, h, i, j)], weight(b, h, i, j), 1e-6);
}

}  // namespace
}  // namespace heed
