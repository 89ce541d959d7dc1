#include <gtest/gtest.h>

#include <cmath>

#include "heed/ops/operators.h"
#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {

using test::expect_gradient;
using test::largest_difference;
using test::random_tensor;
using test::same_bits;
using test::weighted_sum;

constexpr std::pair<int, int> kShapes[] = {{1, 1},   {0, 8},    {3, 5},    {64, 16},
                                           {65, 48}, {130, 97}, {200, 768}};

struct Layer {
  explicit Layer(const Shape& shape, DType dtype = DType::kF32)
      : x(random_tensor(shape, 1, dtype)),
        weight(random_tensor({shape[shape.rank() - 1]}, 2, dtype)),
        bias(random_tensor({shape[shape.rank() - 1]}, 3, dtype)),
        dy(random_tensor(shape, 4, dtype)) {}
  LayerNormArgs args() const { return {.x = x, .weight = weight, .bias = bias}; }
  Tensor x, weight, bias, dy;
};

struct Grads {
  explicit Grads(const Layer& layer)
      : dweight(Tensor::zeros(layer.weight.shape(), layer.x.dtype())),
        dbias(Tensor::zeros(layer.weight.shape(), layer.x.dtype())),
        dx(layer_norm_backward(layer.args(), layer.dy, {.dweight = dweight, .dbias = dbias})) {}
  Tensor dweight, dbias, dx;
};

TEST(LayerNorm, ARowOfFourByHand) {
  Tensor x = Tensor::zeros({1, 4});
  Tensor weight = Tensor::zeros({4});
  Tensor bias = Tensor::zeros({4});
  for (int i = 0; i < 4; ++i) {
    x.data<float>()[i] = static_cast<float>(i);  // mean 1.5, variance 1.25
    weight.data<float>()[i] = 2;
    bias.data<float>()[i] = 10;
  }
  const Tensor y = layer_norm({.x = x, .weight = weight, .bias = bias, .epsilon = 0});
  EXPECT_FLOAT_EQ(y.data<float>()[0], 10 - 2 * 1.5F / std::sqrt(1.25F));
  EXPECT_FLOAT_EQ(y.data<float>()[3], 10 + 2 * 1.5F / std::sqrt(1.25F));
}

TEST(LayerNorm, AgreesWithTheReference) {
  for (const auto& [rows, width] : kShapes) {
    const Layer fast({rows, width});
    const Layer slow({rows, width}, DType::kF64);
    EXPECT_LE(largest_difference(layer_norm(fast.args()), layer_norm(slow.args())), 1e-5);
  }
}

TEST(LayerNorm, GradientsAgreeWithTheReference) {
  for (const auto& [rows, width] : kShapes) {
    if (width < 5) continue;  // dx of one or two elements is a difference of nearly equal numbers
    const Grads fast(Layer({rows, width}));
    const Grads slow(Layer({rows, width}, DType::kF64));
    EXPECT_LE(largest_difference(fast.dx, slow.dx), 2e-5);
    EXPECT_LE(largest_difference(fast.dweight, slow.dweight), 2e-5);
    EXPECT_LE(largest_difference(fast.dbias, slow.dbias), 2e-5);
  }
}

TEST(LayerNorm, GradientsAreFiniteDifferences) {
  Layer layer({3, 7}, DType::kF64);
  const Grads grads(layer);
  const auto scalar = [&] { return weighted_sum(layer_norm(layer.args()), layer.dy); };
  expect_gradient(layer.x, grads.dx, scalar);
  expect_gradient(layer.weight, grads.dweight, scalar);
  expect_gradient(layer.bias, grads.dbias, scalar);
}

TEST(LayerNorm, GradientsOfParametersAreAdded) {
  const Layer layer({9, 8});
  Grads grads(layer);
  const Tensor once = grads.dbias.clone();
  layer_norm_backward(layer.args(), layer.dy, {.dweight = grads.dweight, .dbias = grads.dbias});
  for (int c = 0; c < 8; ++c)
    EXPECT_FLOAT_EQ(grads.dbias.data<float>()[c], 2 * once.data<float>()[c]);
}

TEST(LayerNorm, BitsDoNotDependOnThreads) {
  const Layer layer({333, 100});
  set_thread_count(1);
  const Grads one(layer);
  set_thread_count(3);
  const Grads three(layer);
  set_thread_count(0);
  EXPECT_TRUE(same_bits(one.dx, three.dx));
  EXPECT_TRUE(same_bits(one.dweight, three.dweight));
  EXPECT_TRUE(same_bits(one.dbias, three.dbias));
}

TEST(LayerNorm, GoesOverTheAxesThatWeightHas) {
  const Tensor x = random_tensor({4, 3, 5}, 5);
  const Tensor weight = random_tensor({3, 5}, 6);
  const Tensor bias = random_tensor({3, 5}, 7);
  const Tensor y = layer_norm({.x = x, .weight = weight, .bias = bias});
  const Tensor flat = layer_norm({.x = x.view().reshape({4, 15}),
                                  .weight = weight.view().reshape({15}),
                                  .bias = bias.view().reshape({15})});
  EXPECT_TRUE(same_bits(y.view().reshape({4, 15}), flat));
}

TEST(LayerNorm, StridesDoNotMatter) {
  const Tensor x = random_tensor({6, 9}, 8);
  const Tensor weight = random_tensor({6}, 9);
  const ConstView turned = x.view().permute({1, 0});
  const Tensor straight = Tensor::copy_of(turned);
  EXPECT_TRUE(same_bits(layer_norm({.x = turned, .weight = weight, .bias = weight}),
                        layer_norm({.x = straight, .weight = weight, .bias = weight})));
}

TEST(LayerNorm, SixteenBitTypesAreRoundedOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Layer layer({5, 40}, dtype);
    const Tensor x = Tensor::converted(layer.x, DType::kF32);
    const Tensor weight = Tensor::converted(layer.weight, DType::kF32);
    const Tensor bias = Tensor::converted(layer.bias, DType::kF32);
    const Tensor wide = layer_norm({.x = x, .weight = weight, .bias = bias});
    EXPECT_TRUE(same_bits(layer_norm(layer.args()), Tensor::converted(wide, dtype)));
  }
}

TEST(LayerNorm, StatisticsOfARowByHand) {
  Tensor x = Tensor::zeros({1, 4}, DType::kF64);
  for (int i = 0; i < 4; ++i) x.data<double>()[i] = i;  // mean 1.5, variance 1.25
  const Tensor weight = Tensor::zeros({4}, DType::kF64);
  const LayerNormStatistics statistics =
      layer_norm_statistics({.x = x, .weight = weight, .bias = weight, .epsilon = 0.31});
  EXPECT_EQ(statistics.mean.shape(), Shape({1}));
  EXPECT_DOUBLE_EQ(statistics.mean.data<double>()[0], 1.5);
  EXPECT_DOUBLE_EQ(statistics.inverse_deviation.data<double>()[0], 1 / std::sqrt(1.56));
}

TEST(LayerNorm, SaysWhatDoesNotFit) {
  Layer layer({2, 8});
  layer.bias = Tensor::zeros({7});
  EXPECT_HEED_ERROR(layer_norm(layer.args()), ErrorCode::kInvalidArgument,
                    "layer_norm: bias is f32 [7], expected f32 [8]");
}

}  // namespace heed
