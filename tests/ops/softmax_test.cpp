#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/operators.h"
#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::largest_difference;
using test::random_tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The softmax of one line in plain loops.
std::vector<double> line(const double* x, std::int64_t count, std::int64_t step) {
  double largest = -INFINITY;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[i * step]);
  std::vector<double> y;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    y.push_back(std::exp(x[i * step] - largest));
    sum += y.back();
  }
  for (double& value : y) value /= sum;
  return y;
}

TEST(Softmax, OneTwoThreeByHand) {
  Tensor x = Tensor::empty({3});
  for (int i = 0; i < 3; ++i) x.data<float>()[i] = static_cast<float>(i + 1);
  const Tensor y = softmax(x);
  EXPECT_NEAR(y.data<float>()[0], 0.09003057, 1e-7);
  EXPECT_NEAR(y.data<float>()[1], 0.24472847, 1e-7);
  EXPECT_NEAR(y.data<float>()[2], 0.66524096, 1e-7);
}

TEST(Softmax, EveryAxisAgreesWithPlainLoops) {
  const Tensor x = random_tensor({5, 7, 33}, 1, DType::kF64);
  const std::int64_t steps[] = {7 * 33, 33, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const Tensor y = softmax(x, axis);
    const Tensor same = softmax(x, axis - 3);
    EXPECT_TRUE(test::same_bits(y, same));
    const Tensor narrow = softmax(Tensor::converted(x, DType::kF32), axis);
    EXPECT_LE(largest_difference(narrow, y), 3e-7);
    for (std::int64_t i = 0; i < x.element_count(); ++i) {
      if (i / steps[axis] % x.dim(axis) != 0) continue;  // the first of its line
      const std::vector<double> expected = line(x.data<double>() + i, x.dim(axis), steps[axis]);
      for (std::int64_t n = 0; n < x.dim(axis); ++n)
        EXPECT_NEAR(y.data<double>()[i + n * steps[axis]], expected[static_cast<std::size_t>(n)],
                    1e-15);
    }
  }
}

TEST(Softmax, StridesDoNotMatter) {
  const Tensor x = random_tensor({4, 6, 9}, 2);
  const ConstView turned = x.view().permute({2, 0, 1});
  EXPECT_TRUE(test::same_bits(softmax(turned, 1), softmax(Tensor::copy_of(turned), 1)));
}

TEST(Softmax, SixteenBitTypesAreRoundedOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = random_tensor({6, 50}, 3, dtype);
    const Tensor wide = softmax(Tensor::converted(x, DType::kF32));
    EXPECT_TRUE(test::same_bits(softmax(x), Tensor::converted(wide, dtype)));
  }
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  Tensor x = random_tensor({2, 40}, 4);
  for (int i = 0; i < 80; ++i) x.data<float>()[i] = 1e30F * (i == 7 ? 2 : 1);
  const Tensor y = softmax(x);
  EXPECT_EQ(y.data<float>()[7], 1);
  EXPECT_EQ(y.data<float>()[8], 0);
  EXPECT_FLOAT_EQ(y.data<float>()[40], 1.0F / 40);
}

TEST(Softmax, ALineOfMinusInfinityOrWithANanIsNan) {
  Tensor x = Tensor::zeros({4, 20});
  float* rows = x.data<float>();
  for (int i = 0; i < 20; ++i) rows[i] = -kInfinity;
  rows[20 + 19] = std::nanf("");
  rows[40 + 3] = kInfinity;
  const Tensor y = softmax(x);
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(std::isnan(y.data<float>()[i])) << i;
  EXPECT_FLOAT_EQ(y.data<float>()[60], 0.05F);
}

TEST(Softmax, ExtentsMayBeZero) {
  EXPECT_EQ(softmax(Tensor::zeros({3, 0})).shape(), Shape({3, 0}));
  EXPECT_EQ(softmax(Tensor::zeros({0, 3}), 0).shape(), Shape({0, 3}));
}

TEST(Softmax, GradientsAreFiniteDifferences) {
  Tensor x = random_tensor({3, 5, 4}, 5, DType::kF64);
  const Tensor dy = random_tensor({3, 5, 4}, 6, DType::kF64);
  for (int axis = 0; axis < 3; ++axis) {
    const Tensor dx = softmax_backward(softmax(x, axis), dy, axis);
    test::expect_gradient(x, dx, [&] { return test::weighted_sum(softmax(x, axis), dy); });
    const Tensor narrow = softmax_backward(softmax(Tensor::converted(x, DType::kF32), axis),
                                           Tensor::converted(dy, DType::kF32), axis);
    EXPECT_LE(largest_difference(narrow, dx), 1e-6);
  }
}

TEST(Softmax, BitsDoNotDependOnThreads) {
  const Tensor x = random_tensor({300, 130}, 7);
  set_thread_count(1);
  const Tensor one = softmax(x);
  set_thread_count(3);
  const Tensor three = softmax(x);
  set_thread_count(0);
  EXPECT_TRUE(test::same_bits(one, three));
}

TEST(Softmax, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_HEED_ERROR(softmax(x, 2), ErrorCode::kInvalidArgument,
                    "softmax: axis is 2, expected -2 to 1");
  EXPECT_HEED_ERROR(softmax(Tensor::zeros({2}, DType::kI32)), ErrorCode::kInvalidArgument,
                    "softmax: x is i32 [2], expected f64, f32, f16 or bf16");
  EXPECT_HEED_ERROR(softmax_backward(x, Tensor::zeros({3, 2})), ErrorCode::kInvalidArgument,
                    "softmax: dy is f32 [3, 2], expected f32 [2, 3]");
}

}  // namespace
}  // namespace heed
