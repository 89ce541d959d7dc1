#include <gtest/gtest.h>

#include <cmath>

#include "ops/elementwise.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

TEST(Softcap, SmallValuesStayAndLargeOnesEndAtTheCap) {
  Tensor x = Tensor::zeros({3});
  x.data<float>()[0] = 0.001F;
  x.data<float>()[1] = 8;
  x.data<float>()[2] = -1000;
  const Tensor y = softcapped(std::move(x), 8);
  EXPECT_NEAR(y.data<float>()[0], 0.001, 1e-9);
  EXPECT_NEAR(y.data<float>()[1], 8 * std::tanh(1.0), 1e-6);
  EXPECT_EQ(y.data<float>()[2], -8);
}

TEST(Softcap, GradientIsAFiniteDifference) {
  Tensor x = test::random_tensor({50}, 1, DType::kF64);
  const Tensor dy = test::random_tensor({50}, 2, DType::kF64);
  const Tensor y = softcapped(x.clone(), 1.5);
  test::expect_gradient(x, softcap_backward(y, 1.5, dy),
                        [&] { return test::weighted_sum(softcapped(x.clone(), 1.5), dy); });
}

TEST(Clamp, KeepsWhatIsWithinAndNaN) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Tensor wide = Tensor::zeros({4}, DType::kF64);
    wide.data<double>()[0] = -3;
    wide.data<double>()[1] = 0.5;
    wide.data<double>()[2] = 3;
    wide.data<double>()[3] = NAN;
    const Tensor y = Tensor::converted(clamped(Tensor::converted(wide, dtype), -1, 2), DType::kF64);
    EXPECT_EQ(y.data<double>()[0], -1);
    EXPECT_EQ(y.data<double>()[1], 0.5);
    EXPECT_EQ(y.data<double>()[2], 2);
    EXPECT_TRUE(std::isnan(y.data<double>()[3]));
  }
}

TEST(Clamp, GradientIsAFiniteDifference) {
  Tensor x = test::random_tensor({50}, 1, DType::kF64);
  const Tensor dy = test::random_tensor({50}, 2, DType::kF64);
  test::expect_gradient(x, clamp_backward(x, -0.5, 0.8, dy.clone()),
                        [&] { return test::weighted_sum(clamped(x.clone(), -0.5, 0.8), dy); });
}

TEST(Softcap, SaysWhatDoesNotFit) {
  EXPECT_HEED_ERROR(softcapped(Tensor::zeros({2}), 0), ErrorCode::kInvalidArgument,
                    "softcap: cap is 0, expected above 0");
}

}  // namespace
}  // namespace heed
