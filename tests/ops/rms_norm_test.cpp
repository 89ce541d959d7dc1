#include <gtest/gtest.h>

#include <cmath>

#include "base/machine.h"
#include "heed/ops/operators.h"
#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::largest_difference;
using test::random_tensor;
using test::same_bits;

constexpr std::pair<int, int> kShapes[] = {{1, 1},   {0, 8},    {3, 5},    {64, 16},
                                           {65, 48}, {130, 97}, {200, 768}};

struct Layer {
  explicit Layer(const Shape& shape, DType dtype = DType::kF32)
      : x(random_tensor(shape, 1, dtype)),
        weight(random_tensor({shape[shape.rank() - 1]}, 2, dtype)),
        dy(random_tensor(shape, 3, dtype)) {}
  RmsNormArgs args() const { return {.x = x, .weight = weight}; }
  Tensor x, weight, dy;
};

struct Grads {
  explicit Grads(const Layer& layer)
      : dweight(Tensor::zeros(layer.weight.shape(), layer.x.dtype())),
        dx(rms_norm_backward(layer.args(), layer.dy, dweight)) {}
  Tensor dweight, dx;
};

TEST(RmsNorm, ARowOfTwoByHand) {
  Tensor x = Tensor::zeros({1, 2});
  x.data<float>()[0] = 3;
  x.data<float>()[1] = 4;  // mean square 12.5
  Tensor weight = Tensor::zeros({2});
  weight.data<float>()[0] = 1;
  weight.data<float>()[1] = 2;
  const Tensor y = rms_norm({.x = x, .weight = weight, .epsilon = 3.5});
  EXPECT_FLOAT_EQ(y.data<float>()[0], 0.75F);
  EXPECT_FLOAT_EQ(y.data<float>()[1], 2);
}

TEST(RmsNorm, AgreesWithTheReference) {
  for (const auto& [rows, width] : kShapes) {
    const Layer fast({rows, width});
    const Layer slow({rows, width}, DType::kF64);
    const double bound = allowed_isa() == Isa::kPortable ? 8e-6 : 2e-6;  // a sum in one lane
    EXPECT_LE(largest_difference(rms_norm(fast.args()), rms_norm(slow.args())), bound);
  }
}

TEST(RmsNorm, GradientsAgreeWithTheReference) {
  for (const auto& [rows, width] : kShapes) {
    if (width < 5) continue;  // dx of one element is a difference of nearly equal numbers
    const Grads fast(Layer({rows, width}));
    const Grads slow(Layer({rows, width}, DType::kF64));
    EXPECT_LE(largest_difference(fast.dx, slow.dx), 2e-5);
    EXPECT_LE(largest_difference(fast.dweight, slow.dweight), 2e-5);
  }
}

TEST(RmsNorm, GradientsAreFiniteDifferences) {
  Layer layer({3, 7}, DType::kF64);
  const Grads grads(layer);
  const auto scalar = [&] { return test::weighted_sum(rms_norm(layer.args()), layer.dy); };
  test::expect_gradient(layer.x, grads.dx, scalar);
  test::expect_gradient(layer.weight, grads.dweight, scalar);
}

TEST(RmsNorm, GoesOverTheAxesThatWeightHas) {
  const Tensor x = random_tensor({4, 3, 5}, 4);
  const Tensor weight = random_tensor({3, 5}, 5);
  const Tensor y = rms_norm({.x = x, .weight = weight});
  const Tensor flat =
      rms_norm({.x = x.view().reshape({4, 15}), .weight = weight.view().reshape({15})});
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_TRUE(same_bits(y.view().reshape({4, 15}), flat));
}

TEST(RmsNorm, StridesDoNotMatter) {
  const Tensor x = random_tensor({6, 9}, 6);
  const Tensor weight = random_tensor({6}, 7);
  const ConstView turned = x.view().permute({1, 0});
  const Tensor straight = Tensor::copy_of(turned);
  EXPECT_TRUE(same_bits(rms_norm({.x = turned, .weight = weight}),
                        rms_norm({.x = straight, .weight = weight})));
}

TEST(RmsNorm, SixteenBitTypesAreRoundedOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Layer layer({5, 40}, dtype);
    const Tensor x = Tensor::converted(layer.x, DType::kF32);
    const Tensor weight = Tensor::converted(layer.weight, DType::kF32);
    EXPECT_TRUE(same_bits(rms_norm(layer.args()),
                          Tensor::converted(rms_norm({.x = x, .weight = weight}), dtype)));
  }
}

TEST(RmsNorm, BitsDoNotDependOnThreads) {
  const Layer layer({333, 100});
  set_thread_count(1);
  const Grads one(layer);
  set_thread_count(3);
  const Grads three(layer);
  set_thread_count(0);
  EXPECT_TRUE(same_bits(one.dx, three.dx));
  EXPECT_TRUE(same_bits(one.dweight, three.dweight));
}

TEST(RmsNorm, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({2, 8});
  const Tensor weight = Tensor::zeros({7});
  EXPECT_HEED_ERROR(rms_norm({.x = x, .weight = weight}), ErrorCode::kInvalidArgument,
                    "rms_norm: weight is f32 [7], expected f32, trailing axes of x [2, 8] with at "
                    "least one element");
  const Tensor whole = Tensor::zeros({8});
  Tensor dweight = Tensor::zeros({8}, DType::kF64);
  EXPECT_HEED_ERROR(rms_norm_backward({.x = x, .weight = whole}, x, dweight),
                    ErrorCode::kInvalidArgument,
                    "rms_norm: dweight is f64 [8], expected f32 [8], row-major");
}

}  // namespace
}  // namespace heed
