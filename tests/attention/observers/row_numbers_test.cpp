#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"

namespace heed {
namespace {

class MassObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, MassObserved, observed_types(), type_name);

TEST_P(MassObserved, MassIsTheShareOfAClassOfKeys) {
  std::vector<std::int32_t> classes(kKeys);
  for (std::int64_t j = 0; j < kKeys; ++j)
    classes[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j % 4) - 1;
  MassObserver observer(classes, 3);
  watch({&observer});
  for (std::int64_t row = 0; row < kBatch * kHeads * kQueries; ++row)
    for (std::int32_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (std::int64_t j = c + 1; j < kKeys; j += 4)
        sum += weight(row / kQueries / kHeads, row / kQueries % kHeads, row % kQueries, j);
      ASSERT_NEAR(observer.mass.data<float>()[row * 3 + c], sum, 1e-5);
    }
}

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
