#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "heed/attention.h"
#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

Tensor of(const std::vector<float>& values) {
  return Tensor::copy_of(ConstView(values.data(), DType::kF32, {1, std::ssize(values)}));
}

TEST(Quantise, ScalesByTheLargestOfThirtyTwo) {
  Tensor x = Tensor::zeros({2, 40});
  x.data<float>()[3] = -254;  // row 0, group 0: scale 2
  x.data<float>()[4] = 3;
  x.data<float>()[35] = 127;  // row 0, group 1: scale 1
  const Quantised made = quantise(x);
  EXPECT_EQ(made.values.shape(), Shape({2, 40}));
  EXPECT_EQ(made.scales.shape(), Shape({2, 2}));
  EXPECT_EQ(made.scales.data<float>()[0], 2);
  EXPECT_EQ(made.scales.data<float>()[1], 1);
  EXPECT_EQ(made.values.data<std::int8_t>()[3], -127);
  EXPECT_EQ(made.values.data<std::int8_t>()[4], 2);  // 1.5: to even
  EXPECT_EQ(made.values.data<std::int8_t>()[35], 127);
}

TEST(Quantise, RoundsHalvesToEven) {
  const Quantised made = quantise(of({127, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F}));
  const std::vector<int> found(made.values.data<std::int8_t>(),
                               made.values.data<std::int8_t>() + 6);
  EXPECT_EQ(found, (std::vector<int>{127, 0, 2, 2, 0, -2}));
}

TEST(Quantise, AGroupOfZerosHasScaleZero) {
  const Quantised made = quantise(Tensor::zeros({1, 32}));
  EXPECT_EQ(made.scales.data<float>()[0], 0);
  EXPECT_EQ(dequantise(made.values, made.scales).data<float>()[31], 0);
}

TEST(Quantise, WhatIsNotFiniteMakesItsGroupNaN) {
  for (const float poison : {NAN, INFINITY, -INFINITY}) {
    Tensor x = test::random_tensor({1, 64}, 1);
    x.data<float>()[5] = poison;
    const Quantised made = quantise(x);
    const Tensor back = dequantise(made.values, made.scales);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(back.data<float>()[i]), i < 32) << i;
  }
}

TEST(Quantise, TheTiniestValuesStayInRange) {
  const Quantised made = quantise(of({1e-44F, -2e-44F, 1e-40F, -1e-40F}));
  const Tensor back = dequantise(made.values, made.scales);
  for (int i = 0; i < 4; ++i) EXPECT_LE(std::abs(back.data<float>()[i]), 1.01e-40F);
}

TEST(Quantise, ErrsByHalfAStepAtMost) {
  const Tensor x = test::random_tensor({3, 5, 70}, 2);
  const Quantised made = quantise(x);
  const Tensor back = dequantise(made.values, made.scales);
  for (std::int64_t i = 0; i < x.element_count(); ++i) {
    const float scale = made.scales.data<float>()[i / 70 * 3 + i % 70 / 32];
    EXPECT_LE(std::abs(back.data<float>()[i] - x.data<float>()[i]), 0.5001F * scale);
  }
}

TEST(Quantise, TypesAndStridesGiveTheValuesTheyHave) {
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    const Tensor x = test::random_tensor({4, 3, 33}, 3, dtype);
    const ConstView turned = x.view().permute({1, 0, 2});
    const Quantised found = quantise(turned);
    const Quantised expected = quantise(Tensor::converted(turned, DType::kF32));
    EXPECT_TRUE(test::same_bits(found.values, expected.values));
    EXPECT_TRUE(test::same_bits(found.scales, expected.scales));
  }
}

TEST(Quantise, ThreadsDoNotMatter) {
  const Tensor x = test::random_tensor({300, 40}, 4);
  set_thread_count(1);
  const Quantised expected = quantise(x);
  set_thread_count(3);
  EXPECT_TRUE(test::same_bits(quantise(x).values, expected.values));
  set_thread_count(0);
}

TEST(Quantise, NothingIsLegal) {
  EXPECT_EQ(quantise(Tensor::zeros({0, 32})).scales.shape(), Shape({0, 1}));
  EXPECT_EQ(quantise(Tensor::zeros({2, 0})).scales.shape(), Shape({2, 0}));
}

TEST(Quantise, SaysWhatItExpects) {
  EXPECT_HEED_ERROR(quantise({}), ErrorCode::kInvalidArgument,
                    "quantise: x is not given, expected rows of f64, f32, f16 or bf16");
  EXPECT_HEED_ERROR(quantise(Tensor::zeros({2, 3}, DType::kI8)), ErrorCode::kInvalidArgument,
                    "quantise: x is i8 [2, 3], expected rows of f64, f32, f16 or bf16");
  EXPECT_HEED_ERROR(dequantise(Tensor::zeros({2, 3}), Tensor::zeros({2, 1})),
                    ErrorCode::kInvalidArgument,
                    "dequantise: values is f32 [2, 3], expected rows of i8");
  EXPECT_HEED_ERROR(
      dequantise(Tensor::zeros({2, 33}, DType::kI8), Tensor::zeros({2, 1})),
      ErrorCode::kInvalidArgument,
      "dequantise: scales is f32 [2, 1], expected f32 [2, 2]: one for each 32 of values [2, 33]");
}

}  // namespace
}  // namespace heed
