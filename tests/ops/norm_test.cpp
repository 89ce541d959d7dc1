#include <gtest/gtest.h>

#include <cmath>

#include "base/machine.h"
#include "heed/operators.h"
#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::expect_gradient;
using test::largest_difference;
using test::random_tensor;
using test::same_bits;
using test::weighted_sum;

constexpr std::pair<int, int> kShapes[] = {{1, 1},   {0, 8},    {3, 5},    {64, 16},
                                           {65, 48}, {130, 97}, {200, 768}};

enum class Kind { kLayer, kRms };

Tensor norm(Kind kind, const ConstView& x, const ConstView& weight, const ConstView& bias) {
  if (kind == Kind::kRms) return rms_norm({.x = x, .weight = weight});
  return layer_norm({.x = x, .weight = weight, .bias = bias});
}

struct Layer {
  Layer(Kind of, const Shape& shape, DType dtype = DType::kF32)
      : kind(of),
        x(random_tensor(shape, 1, dtype)),
        weight(random_tensor({shape[shape.rank() - 1]}, 2, dtype)),
        bias(random_tensor({shape[shape.rank() - 1]}, 3, dtype)),
        dy(random_tensor(shape, 4, dtype)) {}
  Tensor y() const { return norm(kind, x, weight, bias); }
  LayerNormArgs args() const { return {.x = x, .weight = weight, .bias = bias}; }
  Kind kind;
  Tensor x, weight, bias, dy;
};

// `dbias` is 0 for RMS norms.
struct Grads {
  explicit Grads(const Layer& layer)
      : dweight(Tensor::zeros(layer.weight.shape(), layer.x.dtype())),
        dbias(Tensor::zeros(layer.weight.shape(), layer.x.dtype())),
        dx(layer.kind == Kind::kRms
               ? rms_norm_backward({.x = layer.x, .weight = layer.weight}, layer.dy, dweight)
               : layer_norm_backward(layer.args(), layer.dy,
                                     {.dweight = dweight, .dbias = dbias})) {}
  Tensor dweight, dbias, dx;
};

class Norms : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, Norms, testing::Values(Kind::kLayer, Kind::kRms),
                         [](const testing::TestParamInfo<Kind>& kind) {
                           return kind.param == Kind::kRms ? "Rms" : "Layer";
                         });

TEST_P(Norms, AgreeWithTheReference) {
  const double of_rms = allowed_isa() == Isa::kPortable ? 8e-6 : 2e-6;  // a sum in one lane
  const double bound = GetParam() == Kind::kRms ? of_rms : 1e-5;
  for (const auto& [rows, width] : kShapes) {
    const Layer fast(GetParam(), {rows, width});
    const Layer slow(GetParam(), {rows, width}, DType::kF64);
    EXPECT_LE(largest_difference(fast.y(), slow.y()), bound);
  }
}

TEST_P(Norms, GradientsAgreeWithTheReference) {
  for (const auto& [rows, width] : kShapes) {
    if (width < 5) continue;  // dx of one or two elements is a difference of nearly equal numbers
    const Grads fast(Layer(GetParam(), {rows, width}));
    const Grads slow(Layer(GetParam(), {rows, width}, DType::kF64));
    EXPECT_LE(largest_difference(fast.dx, slow.dx), 2e-5);
    EXPECT_LE(largest_difference(fast.dweight, slow.dweight), 2e-5);
    EXPECT_LE(largest_difference(fast.dbias, slow.dbias), 2e-5);
  }
}

TEST_P(Norms, GradientsAreFiniteDifferences) {
  Layer layer(GetParam(), {3, 7}, DType::kF64);
  const Grads grads(layer);
  const auto scalar = [&] { return weighted_sum(layer.y(), layer.dy); };
  expect_gradient(layer.x, grads.dx, scalar);
  expect_gradient(layer.weight, grads.dweight, scalar);
  expect_gradient(layer.bias, grads.dbias, scalar);
}

TEST_P(Norms, BitsDoNotDependOnThreads) {
  const Layer layer(GetParam(), {333, 100});
  set_thread_count(1);
  const Grads one(layer);
  set_thread_count(3);
  const Grads three(layer);
  set_thread_count(0);
  EXPECT_TRUE(same_bits(one.dx, three.dx));
  EXPECT_TRUE(same_bits(one.dweight, three.dweight));
  EXPECT_TRUE(same_bits(one.dbias, three.dbias));
}

TEST_P(Norms, GoOverTheAxesThatWeightHas) {
  const Tensor x = random_tensor({4, 3, 5}, 5);
  const Tensor weight = random_tensor({3, 5}, 6);
  const Tensor bias = random_tensor({3, 5}, 7);
  const Tensor y = norm(GetParam(), x, weight, bias);
  const Tensor flat = norm(GetParam(), x.view().reshape({4, 15}), weight.view().reshape({15}),
                           bias.view().reshape({15}));
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_TRUE(same_bits(y.view().reshape({4, 15}), flat));
}

TEST_P(Norms, StridesDoNotMatter) {
  const Tensor x = random_tensor({6, 9}, 8);
  const Tensor weight = random_tensor({6}, 9);
  const ConstView turned = x.view().permute({1, 0});
  const Tensor straight = Tensor::copy_of(turned);
  EXPECT_TRUE(same_bits(norm(GetParam(), turned, weight, weight),
                        norm(GetParam(), straight, weight, weight)));
}

TEST_P(Norms, SixteenBitTypesAreRoundedOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Layer layer(GetParam(), {5, 40}, dtype);
    const Tensor wide = norm(GetParam(), Tensor::converted(layer.x, DType::kF32),
                             Tensor::converted(layer.weight, DType::kF32),
                             Tensor::converted(layer.bias, DType::kF32));
    EXPECT_TRUE(same_bits(layer.y(), Tensor::converted(wide, dtype)));
  }
}

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

TEST(LayerNorm, GradientsOfParametersAreAdded) {
  const Layer layer(Kind::kLayer, {9, 8});
  Grads grads(layer);
  const Tensor once = grads.dbias.clone();
  layer_norm_backward(layer.args(), layer.dy, {.dweight = grads.dweight, .dbias = grads.dbias});
  for (int c = 0; c < 8; ++c)
    EXPECT_FLOAT_EQ(grads.dbias.data<float>()[c], 2 * once.data<float>()[c]);
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
  Layer layer(Kind::kLayer, {2, 8});
  layer.bias = Tensor::zeros({7});
  EXPECT_HEED_ERROR(layer_norm(layer.args()), ErrorCode::kInvalidArgument,
                    "layer_norm: bias is f32 [7], expected f32 [8]");
}

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
