#include "nn/rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "heed/operators.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

TEST(RopeFrequencies, ArePowersOfTheBase) {
  const std::vector<double> f = rope_frequencies({.width = 4, .base = 100}, 7);
  EXPECT_EQ(f.size(), 2U);
  EXPECT_EQ(f[0], 1);
  EXPECT_NEAR(f[1], 0.1, 1e-15);
}

TEST(RopeFrequencies, LinearScalingDividesAll) {
  const RopeScaling scaling = {
      .kind = RopeScalingKind::kLinear, .width = 4, .base = 100, .factor = 2.5};
  EXPECT_NEAR(rope_frequencies(scaling, 7)[0], 0.4, 1e-15);
  EXPECT_NEAR(rope_frequencies(scaling, 7)[1], 0.04, 1e-15);
}

TEST(RopeFrequencies, DynamicScalingBeginsWhereTheModelWasTrainedTo) {
  const RopeScaling scaling = {.kind = RopeScalingKind::kDynamic,
                               .width = 4,
                               .base = 100,
                               .factor = 2,
                               .trained_positions = 10};
  EXPECT_NEAR(rope_frequencies(scaling, 10)[1], 0.1, 1e-15);
  EXPECT_NEAR(rope_frequencies(scaling, 3)[1], 0.1, 1e-15);
  // At twice the length the base is 100 (2 * 2 - 1)^(4 / 2).
  EXPECT_NEAR(rope_frequencies(scaling, 20)[1], 1 / std::sqrt(900.0), 1e-15);
}

// Waves of 2 pi, 20 pi, 200 pi and 2000 pi against 64 positions: they fit 10, 1, 0.1 and 0.01
// times.
TEST(RopeFrequencies, Llama3KeepsFastPairsAndStretchesSlowOnes) {
  const RopeScaling scaling = {.kind = RopeScalingKind::kLlama3,
                               .width = 8,
                               .base = 10000,
                               .factor = 8,
                               .trained_positions = 64,
                               .low_frequency_factor = 0.5,
                               .high_frequency_factor = 4};
  const std::vector<double> f = rope_frequencies(scaling, 7);
  EXPECT_NEAR(f[0], 1, 1e-15);
  const double share = (64 * 0.1 / (2 * std::numbers::pi) - 0.5) / 3.5;
  EXPECT_NEAR(f[1], 0.1 * (share + (1 - share) / 8), 1e-15);
  EXPECT_NEAR(f[2], 0.01 / 8, 1e-15);
  EXPECT_NEAR(f[3], 0.001 / 8, 1e-15);
}

TEST(RopeFrequencies, LongScalingHasTwoFactorsAPair) {
  const RopeScaling scaling = {.kind = RopeScalingKind::kLong,
                               .width = 4,
                               .base = 100,
                               .trained_positions = 10,
                               .short_factors = {1, 2},
                               .long_factors = {4, 5}};
  EXPECT_NEAR(rope_frequencies(scaling, 10)[0], 1, 1e-15);
  EXPECT_NEAR(rope_frequencies(scaling, 10)[1], 0.05, 1e-15);
  EXPECT_NEAR(rope_frequencies(scaling, 11)[0], 0.25, 1e-15);
  EXPECT_NEAR(rope_frequencies(scaling, 11)[1], 0.02, 1e-15);
}

TEST(RopeFrequencies, YarnKeepsTheFirstPairAndStretchesTheLast) {
  const RopeScaling scaling = {.kind = RopeScalingKind::kYarn,
                               .width = 64,
                               .base = 10000,
                               .factor = 4,
                               .trained_positions = 2048};
  const std::vector<double> f = rope_frequencies(scaling, 7);
  const std::vector<double> plain = rope_frequencies({.width = 64, .base = 10000}, 7);
  EXPECT_EQ(f.front(), plain.front());
  EXPECT_NEAR(f.back(), plain.back() / 4, 1e-15);
  for (std::size_t n = 1; n < f.size(); ++n)
    EXPECT_LE(f[n] / plain[n], f[n - 1] / plain[n - 1] + 1e-12) << n;
}

TEST(Rotation, IsTheRotationOfTheOperator) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Rotation rotation({.width = 4, .base = 50});
    Tensor x = test::random_tensor({2, 3, 5, 6}, 1, dtype);
    const Tensor expected = rope({.x = x, .rotary_dim = 4, .base = 50, .offset = {7, 0}});
    rotation.turn(x, {.first = {7, 0}, .length = {12, 5}});
    EXPECT_LE(test::largest_difference(x, expected), dtype == DType::kF64 ? 0 : 1e-6);
  }
}

TEST(Rotation, ALaterTextIsTurnedAsAnEarlierOne) {
  const Rotation rotation({.width = 4});
  const Tensor x = test::random_tensor({1, 1, 3, 4}, 1);
  Tensor first = x.clone();
  rotation.turn(first, {.first = {2}, .length = {5}});
  Tensor far = x.clone();
  rotation.turn(far, {.first = {1000}, .length = {1003}});  // the table grows
  Tensor again = x.clone();
  rotation.turn(again, {.first = {2}, .length = {5}});
  EXPECT_TRUE(test::same_bits(first, again));
  EXPECT_FALSE(test::same_bits(first, far));
}

TEST(Rotation, GradientsAreFiniteDifferences) {
  const Rotation rotation({.kind = RopeScalingKind::kYarn,
                           .width = 6,
                           .factor = 4,
                           .trained_positions = 8,
                           .length = 1.3});
  const Standing standing = {.first = {3, 0}, .length = {6, 3}};
  Tensor x = test::random_tensor({2, 2, 3, 6}, 1, DType::kF64);
  const Tensor dy = test::random_tensor(x.shape(), 2, DType::kF64);
  Tensor dx = dy.clone();
  rotation.turn_back(dx, standing);
  test::expect_gradient(x, dx, [&] {
    Tensor y = x.clone();
    rotation.turn(y, standing);
    return test::weighted_sum(y, dy);
  });
}

}  // namespace
}  // namespace heed
