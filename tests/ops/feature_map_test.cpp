#include <gtest/gtest.h>

#include <cmath>

#include "heed/operators.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;

Tensor numbers(std::initializer_list<double> values) {
  Tensor x = Tensor::empty({static_cast<std::int64_t>(values.size())}, DType::kF64);
  std::copy(values.begin(), values.end(), x.data<double>());
  return x;
}

TEST(FeatureMap, KnownValues) {
  const Tensor x = numbers({-1, 0, 2});
  const Tensor elu = map_features(x, {.kind = FeatureKind::kEluPlusOne});
  EXPECT_DOUBLE_EQ(elu.data<double>()[0], std::exp(-1));
  EXPECT_EQ(elu.data<double>()[1], 1);
  EXPECT_EQ(elu.data<double>()[2], 3);
  const Tensor relu = map_features(x, {.kind = FeatureKind::kRelu, .scale = 2});
  EXPECT_EQ(relu.data<double>()[0], 0);
  EXPECT_EQ(relu.data<double>()[2], 4);
  EXPECT_TRUE(test::same_bits(map_features(x, {}), x));
}

TEST(FeatureMap, RandomExponentialByHand) {
  const Tensor x = numbers({3, 4});
  Tensor projection = Tensor::zeros({4, 2}, DType::kF64);
  projection.data<double>()[0] = 1;  // row 0 is (1, 0), the others 0
  const Tensor phi = map_features(
      x, {.kind = FeatureKind::kRandomExponential, .scale = 0.1, .projection = projection});
  ASSERT_EQ(phi.shape(), Shape({4}));
  EXPECT_NEAR(phi.data<double>()[0], std::exp(0.3 - 0.125) / 2, 1e-15);
  EXPECT_NEAR(phi.data<double>()[1], std::exp(-0.125) / 2, 1e-15);
}

TEST(FeatureMap, GradientsAreFiniteDifferences) {
  const Tensor projection = random_tensor({6, 4}, 1, DType::kF64);
  const FeatureMap maps[] = {
      {},
      {.kind = FeatureKind::kEluPlusOne, .scale = 0.7},
      {.kind = FeatureKind::kRelu, .scale = -1.5},
      {.kind = FeatureKind::kRandomExponential, .scale = 0.6, .projection = projection}};
  for (const FeatureMap& map : maps) {
    Tensor x = random_tensor({3, 2, 4}, 2, DType::kF64);
    const Tensor dphi = random_tensor({3, 2, map.features(4)}, 3, DType::kF64);
    const Tensor dx = map_features_backward(x, map, dphi);
    test::expect_gradient(x, dx, [&] { return test::weighted_sum(map_features(x, map), dphi); });
  }
}

TEST(FeatureMap, ProjectionsAreOrthogonalInBlocksAndTheSameForASeed) {
  const Tensor rows = random_projection(7, 4, 5, DType::kF64);
  const auto dot = [&](int a, int b) {
    double sum = 0;
    for (int c = 0; c < 4; ++c)
      sum += rows.data<double>()[a * 4 + c] * rows.data<double>()[b * 4 + c];
    return sum;
  };
  for (int a = 0; a < 7; ++a)
    for (int b = a / 4 * 4; b < a; ++b) EXPECT_NEAR(dot(a, b), 0, 1e-12) << a << " " << b;
  EXPECT_GT(dot(0, 0), 0.1);
  EXPECT_TRUE(test::same_bits(rows, random_projection(7, 4, 5, DType::kF64)));
}

TEST(FeatureMap, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({2, 3});
  const Tensor projection = Tensor::zeros({5, 4});
  EXPECT_HEED_ERROR(
      map_features(x, {.kind = FeatureKind::kRandomExponential}), ErrorCode::kInvalidArgument,
      "features: projection is not given, expected [M, D] for random exponential features");
  EXPECT_HEED_ERROR(
      map_features(x, {.kind = FeatureKind::kRandomExponential, .projection = projection}),
      ErrorCode::kInvalidArgument,
      "features: projection is f32 [5, 4], expected [M, 3] of a floating type");
}

}  // namespace
}  // namespace heed
