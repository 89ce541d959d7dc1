#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observers.h"

namespace heed {
namespace {

class ExpectedDistanceObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, ExpectedDistanceObserved, observed_types(), type_name);

TEST_P(ExpectedDistanceObserved, ExpectedDistanceUsesPositions) {
  ExpectedDistanceObserver observer;
  watch({&observer});
  expect_rows(observer.distance, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    double sum = 0;
    for (std::int64_t j = 0; j < kKeys; ++j)
      sum += weight(b, h, i, j) * std::abs(static_cast<double>(offset(b) + i - j));
    return sum;
  });
}

}  // namespace
}  // namespace heed
