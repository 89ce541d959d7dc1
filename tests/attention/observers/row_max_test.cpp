#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/mask.h"
#include "heed/observe.h"

namespace heed {
namespace {

class RowMaxObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, RowMaxObserved, observed_types(), type_name);

TEST_P(RowMaxObserved, RowMaxIsTheLargestWeight) {
  RowMaxObserver observer;
  watch({&observer});
  expect_rows(observer.maximum, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    double largest = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) largest = std::max(largest, weight(b, h, i, j));
    return largest;
  });
}

TEST(RowMax, OfWeightsBelowZeroIsOfVisibleKeysOnly) {
  Tensor x = Tensor::zeros({1, 1, 2, 1});
  x.data<float>()[0] = 1;
  x.data<float>()[1] = 2;
  AttentionArgs args = {.q = x, .keys = {x, x}, .mask = Mask::causal()};
  args.scores = {.scale = {-1}, .normaliser = Normaliser::kNone};
  RowMaxObserver largest;
  Observer* const observers[] = {&largest};
  observe(args, attention(args), observers);
  EXPECT_EQ(largest.maximum.data<float>()[0], -1);
  EXPECT_EQ(largest.maximum.data<float>()[1], -2);
}

}  // namespace
}  // namespace heed
