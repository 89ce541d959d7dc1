#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"

namespace heed {
namespace {

class TopKObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, TopKObserved, observed_types(), type_name);

TEST_P(TopKObserved, TopKIsFallingAndOfVisibleKeysOnly) {
  TopKObserver observer(5);
  watch({&observer});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i) {
        std::vector<std::int64_t> keys;
        for (std::int64_t j = 0; j < kKeys; ++j)
          if (visible(b, h, i, j)) keys.push_back(j);
        std::ranges::stable_sort(
            keys, [&](auto x, auto y) { return weight(b, h, i, x) > weight(b, h, i, y); });
        keys.resize(5, -1);
        for (std::size_t n = 0; n < 5; ++n) {
          const std::size_t at = ((b * kHeads + h) * kQueries + i) * 5 + n;
          ASSERT_EQ(observer.keys.data<std::int64_t>()[at], keys[n]);
          ASSERT_NEAR(observer.weights.data<float>()[at],
                      keys[n] < 0 ? 0 : weight(b, h, i, keys[n]), 1e-6);
        }
      }
}

TEST(TopK, TiesGoToTheLowerKey) {
  const Tensor zeros = Tensor::zeros({1, 1, 3, 4});
  const AttentionArgs args = {.q = zeros, .keys = {zeros, zeros}};
  TopKObserver observer(2);
  Observer* const observers[] = {&observer};
  observe(args, attention(args), observers);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(observer.keys.data<std::int64_t>()[2 * i], 0);
    EXPECT_EQ(observer.keys.data<std::int64_t>()[2 * i + 1], 1);
  }
}

TEST(TopK, TakesWeightsBelowZeroAsTheyAre) {
  Tensor x = Tensor::zeros({1, 1, 3, 1});
  for (int i = 0; i < 3; ++i) x.data<float>()[i] = static_cast<float>(i + 1);
  AttentionArgs args = {.q = x, .keys = {x, x}};
  args.scores = {.scale = {-1}, .normaliser = Normaliser::kNone};
  TopKObserver top(2);
  Observer* const observers[] = {&top};
  observe(args, attention(args), observers);
  EXPECT_EQ(top.keys.data<std::int64_t>()[4], 0);
  EXPECT_EQ(top.keys.data<std::int64_t>()[5], 1);
  EXPECT_EQ(top.weights.data<float>()[4], -3);
  EXPECT_EQ(top.weights.data<float>()[5], -6);
}

}  // namespace
}  // namespace heed
