// Products asked for in bulk, which a CPU with AMX computes in parts of bf16.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/threads.h"
#include "ops/kernels/matmul.h"
#include "ops/matmul.h"
#include "support/random_tensor.h"

namespace heed {

using test::largest_difference;
using test::random_tensor;
using test::same_bits;

double rms_difference(const ConstView& got, const ConstView& exact) {
  const Tensor values = Tensor::converted(got, DType::kF64);
  const auto* expected = exact.data<double>();
  double squares = 0;
  for (std::int64_t i = 0; i < values.element_count(); ++i)
    squares += std::pow(values.data<double>()[i] - expected[i], 2);
  return std::sqrt(squares / static_cast<double>(values.element_count()));
}

Tensor product_in_f64(const Tensor& a, const Tensor& b) {
  const Tensor wide_a = Tensor::converted(a, DType::kF64);
  const Tensor wide_b = Tensor::converted(b, DType::kF64);
  return matmul({.a = wide_a, .b = wide_b});
}

TEST(MatmulInBulk, ARowDoesNotDependOnNumbersOfOtherRows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t columns : {48, 600}) {  // either operand is cut whole
    for (const float in_b : {1.0F, kInfinity, 1e30F}) {
      Tensor a = random_tensor({70, 40}, 1);
      Tensor b = random_tensor({40, columns}, 2);
      b.data<float>()[5 * columns + 35] = in_b;
      const Tensor before = matmul({.a = a, .b = b, .in_bulk = true});
      a.data<float>()[33 * 40 + 7] = kInfinity;
      const Tensor after = matmul({.a = a, .b = b, .in_bulk = true});
      for (std::int64_t row = 0; row < 70; ++row) {
        const Tensor alone =
            matmul({.a = a.view().slice(0, row, row + 1), .b = b, .in_bulk = true});
        EXPECT_TRUE(same_bits(alone, after.view().slice(0, row, row + 1))) << row;
        EXPECT_EQ(same_bits(before.view().select(0, row), after.view().select(0, row)), row != 33)
            << "row " << row << ", N " << columns << ", in b " << in_b;
      }
    }
  }
}

TEST(MatmulInBulk, OverflowsAsPlainDoes) {
  for (const float large : {3e38F, 1e30F, 1e19F, 1e17F}) {
    Tensor a = random_tensor({40, 48}, 1);
    Tensor b = random_tensor({48, 40}, 2);
    for (Tensor* operand : {&a, &b})
      for (std::int64_t i = 0; i < 48 * 40; ++i) operand->data<float>()[i] *= large / 5;
    const Tensor plain = matmul({.a = a, .b = b});
    const Tensor in_bulk = matmul({.a = a, .b = b, .in_bulk = true});
    for (std::int64_t i = 0; i < plain.element_count(); ++i)
      EXPECT_EQ(std::fpclassify(plain.data<float>()[i]), std::fpclassify(in_bulk.data<float>()[i]))
          << large << ", element " << i;
  }
}

TEST(MatmulInBulk, HasBitsOfItsOwnWhereThereIsAmx) {
  if (!kernels::has_amx()) GTEST_SKIP() << "this CPU has no AMX";
  const Tensor a = random_tensor({64, 64}, 1);
  const Tensor b = random_tensor({64, 64}, 2);
  EXPECT_FALSE(same_bits(matmul({.a = a, .b = b}), matmul({.a = a, .b = b, .in_bulk = true})));
}

TEST(MatmulInBulk, ErrsNoMoreThanPlain) {
  for (const std::int64_t inner : {16, 128, 384, 1500}) {
    const Tensor a = random_tensor({96, inner}, 1);
    const Tensor b = random_tensor({inner, 96}, 2);
    const Tensor exact = product_in_f64(a, b);
    const double in_bulk = rms_difference(matmul({.a = a, .b = b, .in_bulk = true}), exact);
    EXPECT_LE(in_bulk, rms_difference(matmul({.a = a, .b = b}), exact)) << "K " << inner;
  }
}

TEST(MatmulInBulk, HasTheSameBitsForAnyNumberOfThreads) {
  const Tensor a = random_tensor({333, 700}, 1);
  const Tensor b = random_tensor({700, 600}, 2);
  set_thread_count(1);
  const Tensor alone = matmul({.a = a, .b = b, .in_bulk = true});
  for (const int threads : {2, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(matmul({.a = a, .b = b, .in_bulk = true}), alone)) << threads;
  }
  set_thread_count(0);
}

// Infinity less itself is NaN: what has no finite parts goes the way of all products.
TEST(MatmulInBulk, TakesWhatHasNoFiniteParts) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();  // rounded to bf16: infinity
  for (const float odd : {kInfinity, -kInfinity, kLargest, std::nanf("")}) {
    for (const bool in_a : {true, false}) {
      Tensor a = random_tensor({70, 40}, 1);
      Tensor b = random_tensor({40, 50}, 2);
      for (std::int64_t i = 0; i < 40; ++i) a.data<float>()[33 * 40 + i] = 1e-3F;
      (in_a ? a.data<float>()[33 * 40 + 7] : b.data<float>()[7 * 50 + 3]) = odd;
      const Tensor plain = matmul({.a = a, .b = b});
      const Tensor in_bulk = matmul({.a = a, .b = b, .in_bulk = true});
      for (std::int64_t i = 0; i < plain.element_count(); ++i) {
        const float expected = plain.data<float>()[i];
        const float got = in_bulk.data<float>()[i];
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(got)
                    : std::isinf(expected)
                        ? got == expected
                        : std::abs(got - expected) <= 1e-5F * std::max(1.0F, std::abs(expected)))
            << odd << (in_a ? " in a" : " in b") << ", element " << i << ": " << got << ", not "
            << expected;
      }
    }
  }
}

// Each of K sums of six products may lose less than 2^-126 of them.
TEST(MatmulInBulk, LosesOnlyWhatIsBelowNormalNumbers) {
  const Tensor b = random_tensor({32, 32}, 2);
  for (const float scale : {1e-30F, 1e-34F, 1e-37F}) {
    Tensor a = random_tensor({32, 32}, 1);
    for (std::int64_t i = 0; i < a.element_count(); ++i) a.data<float>()[i] *= scale;
    const Tensor exact = product_in_f64(a, b);
    EXPECT_LE(largest_difference(matmul({.a = a, .b = b, .in_bulk = true}), exact),
              4e-7 * 36 * static_cast<double>(scale) + 32 * 6 * 0x1p-126)
        << scale;
  }
}

}  // namespace heed
