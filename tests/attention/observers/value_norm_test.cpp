#include <gtest/gtest.h>

#include "attention/observers/observed.h"
#include "heed/mask.h"
#include "heed/observe.h"

namespace heed {
namespace {

class ValueNormObserved : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, ValueNormObserved, observed_types(), type_name);

TEST_P(ValueNormObserved, WeighsByTheLengthOfV) {
  const Tensor v = Tensor::converted(inputs.args.keys.v, DType::kF64);
  const auto norm = [&](std::int64_t b, std::int64_t h, std::int64_t j) {
    double sum = 0;
    for (std::int64_t d = 0; d < 8; ++d) {
      const double x = at(v, {b, h / 2, key_begin(b) + j, d});
      sum += x * x;
    }
    return std::sqrt(sum);
  };
  ReceivedObserver received;
  ValueNormObserver weighted(received);
  RowMaxObserver plain;
  watch({&weighted, &plain});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t j = 0; j < key_length(b); ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < kQueries; ++i) sum += weight(b, h, i, j);
        ASSERT_NEAR(received.received.data<float>()[(b * kHeads + h) * kKeys + j],
                    sum * norm(b, h, j), 2e-5);
      }
}

TEST(ValueNorm, OfAMaskedNanIsNothing) {
  const Tensor x = Tensor::zeros({1, 1, 2, 1});
  Tensor v = Tensor::zeros({1, 1, 2, 1});
  v.data<float>()[0] = -3;
  v.data<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  const AttentionArgs args = {.q = x, .keys = {x, v}, .mask = Mask::causal()};
  SelectionObserver region;
  ValueNormObserver weighted(region);
  Observer* const observers[] = {&weighted};
  observe(args, attention(args), observers);
  EXPECT_EQ(region.values.data<float>()[0], 3);
  EXPECT_EQ(region.values.data<float>()[1], 0);
  EXPECT_TRUE(std::isnan(region.values.data<float>()[3]));
}

}  // namespace
}  // namespace heed
