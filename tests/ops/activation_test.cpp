#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/elementwise.h"
#include "ops/kernels/elementwise.h"
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

constexpr auto kLast = Activation::kLinear;

std::vector<Activation> all_kinds() {
  std::vector<Activation> all;
  for (int i = 0; i <= static_cast<int>(kLast); ++i) all.push_back(static_cast<Activation>(i));
  return all;
}

const std::vector<Activation> kKinds = all_kinds();

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

Tensor of(const std::vector<double>& values, DType dtype) {
  Tensor x = Tensor::empty({std::ssize(values)}, DType::kF64);
  std::ranges::copy(values, x.data<double>());
  return Tensor::converted(x, dtype);
}

// The numbers of transformers 5.23 at these points, with the derivatives of PyTorch 2.13. Rare
// activations have no kernel, so f32 is f64 rounded.
TEST(Activation, RareOnesAgreeWithTransformers) {
  const std::vector<double> points = {-1e10, -4, -3, -0.5, 0, 0.5, 3, 6, 11, 1e10};
  struct Case {
    Activation kind;
    std::vector<double> values;
    std::vector<double> derivatives;
  };
  const Case cases[] = {
      {Activation::kTanh,
       {-1, -0.999329299739067, -0.9950547536867305, -0.4621171572600097, 0, 0.4621171572600097,
        0.9950547536867305, 0.9999877116507956, 0.9999999994421064, 1},
       {0, 0.001340950683025916, 0.009866037165440166, 0.7864477329659274, 1, 0.7864477329659274,
        0.009866037165440166, 2.457654740530297e-05, 1.115787240068728e-09, 0}},
      {Activation::kSigmoid,
       {0, 0.01798620996209156, 0.04742587317756678, 0.3775406687981454, 0.5, 0.6224593312018546,
        0.9525741268224334, 0.9975273768433653, 0.999983298578152, 1},
       {0, 0.01766270621329112, 0.04517665973091214, 0.2350037122015945, 0.25, 0.2350037122015945,
        0.045176659730912, 0.002466509291359931, 1.670114291046157e-05, 0}},
      {Activation::kMish,
       {0, -0.07259174079202535, -0.1456474612756246, -0.22074377465173, 0, 0.3752452113048951,
        2.986535004967958, 5.999926634065252, 10.99999999386337, 10000000000},
       {0, -0.05377320979348033, -0.09339311453232084, 0.2895106779135123, 0.6, 0.8864243753577273,
        1.021106910929444, 1.00013414050621, 1.000000011715169, 1}},
      {Activation::kLeakyRelu,
       {-100000000, -0.04, -0.03, -0.005, 0, 0.5, 3, 6, 11, 10000000000},
       {0.01, 0.01, 0.01, 0.01, 0.01, 1, 1, 1, 1, 1}},
      {Activation::kRelu6, {0, 0, 0, 0, 0, 0.5, 3, 6, 6, 6}, {0, 0, 0, 0, 0, 1, 1, 0, 0, 0}},
      {Activation::kClippedGelu,
       {0, -0.0001266849673324799, -0.00404969409489031, -0.1542687693629934, 0, 0.3457312306370066,
        2.99595030590511, 5.999999994080474, 10, 10},
       {0, -0.0005036496612264215, -0.01194564720418392, 0.1325048753438371, 0.5,
        0.8674951246561629, 1.011945647204184, 1.000000035468709, 0, 0}},
      {Activation::kHardSwish,
       {0, 0, 0, -0.2083333333333333, 0, 0.2916666666666667, 3, 6, 11, 10000000000},
       {0, 0, 0, 0.3333333333333334, 0.5, 0.6666666666666666, 1, 1, 1, 1}},
      {Activation::kLaplace,
       {0, 0, 0, 9.383381167682447e-06, 0.006094459617935588, 0.2314211484105739,
        0.9999999999999998, 1, 1, 1},
       {0, 0, 0, 0.0001494290484945482, 0.06111382879472588, 1.08011405095824,
        6.375366174527704e-15, 0, 0, 0}},
      {Activation::kLinear,
       {-10000000000, -4, -3, -0.5, 0, 0.5, 3, 6, 11, 10000000000},
       {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}};
  for (const Case& c : cases) {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const Tensor x = of(points, dtype);
      Tensor dx = of(std::vector<double>(points.size(), 1), dtype);
      const Tensor y = Tensor::converted(activate_backward(x, c.kind, dx), DType::kF64);
      dx = Tensor::converted(dx, DType::kF64);
      const double bound = dtype == DType::kF64 ? 1e-14 : 1e-7;
      for (std::size_t i = 0; i < points.size(); ++i) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(c.kind) << " at " << points[i]);
        EXPECT_NEAR(y.data<double>()[i], c.values[i], bound * (1 + std::abs(c.values[i])));
        EXPECT_NEAR(dx.data<double>()[i], c.derivatives[i], bound);
      }
    }
  }
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
    EXPECT_EQ(y.data<float>()[16], activate(Tensor::zeros({1}), kind).data<float>()[0]);
  }
}

TEST(Activation, FarTailsOfKernelsAreFinite) {
  for (const Activation kind : kKinds) {
    if (!kernels::cpu::has_kernel(kind)) continue;
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
