#include "ops/softcap.h"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(Softcap, SaysWhatDoesNotFit) {
  EXPECT_HEED_ERROR(softcapped(Tensor::zeros({2}), 0), ErrorCode::kInvalidArgument,
                    "softcap: cap is 0, expected above 0");
}

}  // namespace
}  // namespace heed
