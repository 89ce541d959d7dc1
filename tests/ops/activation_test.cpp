#include <gtest/gtest.h>

#include <cmath>

#include "ops/elementwise.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {

using test::largest_difference;
using test::random_tensor;

// -12 to 12 in 4801 steps, so that the last vector is a part.
Tensor line(DType dtype) {
  Tensor x = Tensor::empty({4801}, DType::kF64);
  for (int i = 0; i < 4801; ++i) x.data<double>()[i] = (i - 2400) * (1.0 / 256);
  return Tensor::converted(x, dtype);
}

Tensor derivative(DType dtype, Activation kind) {
  Tensor ones = Tensor::converted(Tensor::zeros({4801}, DType::kF64), dtype);
  for (int i = 0; i < 4801; ++i) {
    if (dtype == DType::kF32) ones.data<float>()[i] = 1;
    if (dtype == DType::kF64) ones.data<double>()[i] = 1;
  }
  activate_backward(line(dtype), kind, ones);
  return ones;
}

constexpr Activation kKinds[] = {Activation::kGelu,      Activation::kGeluTanh,
                                 Activation::kSilu,      Activation::kRelu,
                                 Activation::kQuickGelu, Activation::kSquaredRelu};

TEST(Activation, KnownValues) {
  Tensor x = Tensor::zeros({3}, DType::kF64);
  x.data<double>()[0] = 1;
  x.data<double>()[1] = -1;
  const Tensor exact = activate(x, Activation::kGelu);
  const Tensor tanh = activate(x, Activation::kGeluTanh);
  EXPECT_NEAR(exact.data<double>()[0], 0.8413447460685429, 1e-12);  // Phi(1)
  EXPECT_NEAR(exact.data<double>()[1], -0.15865525393145707, 1e-12);
  EXPECT_NEAR(tanh.data<double>()[0], 0.8411919906082768, 1e-12);
  EXPECT_EQ(tanh.data<double>()[2], 0);
  const Tensor silu = activate(x, Activation::kSilu);
  EXPECT_NEAR(silu.data<double>()[0], 0.7310585786300049, 1e-12);  // 1 / (1 + 1 / e)
  EXPECT_NEAR(silu.data<double>()[1], -0.2689414213699951, 1e-12);
  const Tensor quick = activate(x, Activation::kQuickGelu);
  EXPECT_NEAR(quick.data<double>()[0], 0.8457957659328212, 1e-12);  // 1 / (1 + e^-1.702)
  const Tensor relu = activate(x, Activation::kRelu);
  EXPECT_EQ(relu.data<double>()[0], 1);
  EXPECT_EQ(relu.data<double>()[1], 0);
  x.data<double>()[0] = 3;
  const Tensor squared = activate(x, Activation::kSquaredRelu);
  EXPECT_EQ(squared.data<double>()[0], 9);
  EXPECT_EQ(squared.data<double>()[1], 0);
}

TEST(Activation, AgreesWithTheReference) {
  for (const Activation kind : kKinds) {
    EXPECT_LE(
        largest_difference(activate(line(DType::kF32), kind), activate(line(DType::kF64), kind)),
        2e-6);
  }
}

TEST(Activation, DerivativeAgreesWithTheReference) {
  for (const Activation kind : kKinds)
    EXPECT_LE(largest_difference(derivative(DType::kF32, kind), derivative(DType::kF64, kind)),
              3e-6);  // most without FMA
}

TEST(Activation, DerivativeIsAFiniteDifference) {
  for (const Activation kind : kKinds) {
    Tensor x = random_tensor({50}, 1, DType::kF64);
    const Tensor weights = random_tensor({50}, 2, DType::kF64);
    Tensor dx = weights.clone();
    activate_backward(x, kind, dx);
    test::expect_gradient(x, dx, [&] { return test::weighted_sum(activate(x, kind), weights); });
  }
}

TEST(Activation, BackwardGivesTheValueAgain) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const Activation kind : kKinds) {
      Tensor dy = Tensor::zeros({4801}, dtype);
      EXPECT_TRUE(
          test::same_bits(activate_backward(line(dtype), kind, dy), activate(line(dtype), kind)));
    }
  }
}

TEST(Activation, NanStaysNan) {
  for (const Activation kind : kKinds) {
    Tensor x = Tensor::zeros({20});
    x.data<float>()[17] = std::nanf("");
    const Tensor y = activate(x, kind);
    EXPECT_TRUE(std::isnan(y.data<float>()[17]));
    EXPECT_EQ(y.data<float>()[16], 0);
  }
}

TEST(Activation, FarTailsAreFinite) {
  for (const Activation kind : kKinds) {
    Tensor x = Tensor::zeros({2});
    x.data<float>()[0] = -1e10F;
    x.data<float>()[1] = 1e10F;
    const Tensor y = activate(x, kind);
    EXPECT_NEAR(y.data<float>()[0], 0, 1e-6);
    EXPECT_EQ(y.data<float>()[1], kind == Activation::kSquaredRelu ? 1e20F : 1e10F);
  }
}

TEST(Activation, StridesDoNotMatter) {
  const Tensor x = random_tensor({7, 30}, 3);
  const ConstView turned = x.view().permute({1, 0});
  for (const Activation kind : kKinds)
    EXPECT_TRUE(test::same_bits(activate(turned, kind), activate(Tensor::copy_of(turned), kind)));
}

TEST(Activation, SixteenBitTypesAreRoundedOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = random_tensor({100}, 4, dtype);
    const Tensor wide = Tensor::converted(x, DType::kF32);
    for (const Activation kind : kKinds)
      EXPECT_TRUE(
          test::same_bits(activate(x, kind), Tensor::converted(activate(wide, kind), dtype)));
  }
}

TEST(Activation, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({4});
  Tensor dy = Tensor::zeros({5});
  EXPECT_HEED_ERROR(activate_backward(x, Activation::kGelu, dy), ErrorCode::kInvalidArgument,
                    "activate: dy is f32 [5], expected f32 [4], row-major");
}

}  // namespace heed
