#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/observe.h"

namespace heed {
namespace {

class EntropyObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, EntropyObserved, observed_types(), type_name);

TEST_P(EntropyObserved, EntropyIsInNats) {
  EntropyObserver observer;
  watch({&observer});
  expect_rows(observer.entropy, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    double sum = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const double p = weight(b, h, i, j);
      if (p > 0) sum -= p * std::log(p);
    }
    return sum;
  });
}

TEST(Entropy, IncludesTheTermOfTheSink) {
  const Tensor x = Tensor::zeros({1, 1, 1, 1});
  const Tensor keys = Tensor::zeros({1, 1, 3, 1});
  const Tensor sink = Tensor::zeros({1});
  const AttentionArgs args = {.q = x, .keys = {keys, keys}, .scores = {.sink = sink}};
  EntropyObserver spread;
  Observer* const observers[] = {&spread};
  observe(args, attention(args), observers);
  EXPECT_NEAR(spread.entropy.data<float>()[0], std::log(4.0), 1e-6);  // four weights of 1/4
}

TEST(Entropy, OfSigmoidWeightsTakesThemAsTheyAre) {
  const Tensor x = Tensor::zeros({1, 1, 1, 1});
  const Tensor keys = Tensor::zeros({1, 1, 3, 1});
  AttentionArgs args = {.q = x, .keys = {keys, keys}};
  args.scores.normaliser = Normaliser::kSigmoid;
  EntropyObserver spread;
  Observer* const observers[] = {&spread};
  observe(args, attention(args), observers);
  EXPECT_NEAR(spread.entropy.data<float>()[0], 1.5 * std::log(2.0), 1e-6);  // 3 times 1/2 ln 2
}

}  // namespace
}  // namespace heed
