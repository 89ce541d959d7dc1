#include "ops/packed_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/threads.h"
#include "ops/kernels/matmul.h"
#include "ops/matmul.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::largest_difference;
using test::random_tensor;
using test::same_bits;

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

struct Extents2 {
  std::int64_t inner, columns;
};
constexpr Extents2 kMatrices[] = {{1, 1}, {2, 33}, {37, 70}, {512, 96}, {1027, 65}, {768, 257}};

Tensor product(const ConstView& a, const PackedMatrix& b, const ConstView& bias = {},
               bool in_bulk = false) {
  Tensor out = Tensor::empty({a.dim(0), b.columns()});
  matmul({.a = a, .b = b, .bias = bias, .in_bulk = in_bulk}, out);
  return out;
}

Tensor in_f64(const ConstView& a, const ConstView& b, const ConstView& bias) {
  const Tensor wide_a = Tensor::converted(a, DType::kF64);
  const Tensor wide_b = Tensor::converted(b, DType::kF64);
  const Tensor wide_bias = Tensor::converted(bias, DType::kF64);
  return matmul({.a = wide_a, .b = wide_b, .bias = wide_bias});
}

TEST(PackedMatrix, ProductsAgreeWithF64ForEveryTypeLayoutAndNumberOfRows) {
  for (const DType dtype : kTypes)
    for (const auto& [inner, columns] : kMatrices) {
      const Tensor b = Tensor::converted(random_tensor({inner, columns}, 1), dtype);
      const Tensor bt = Tensor::converted(random_tensor({columns, inner}, 2), dtype);
      const Tensor bias = random_tensor({columns}, 3);
      for (const ConstView& plain : {b.view(), bt.view().permute({1, 0})}) {
        const PackedMatrix packed(plain);
        for (const std::int64_t rows :
             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 19, 30, 47, 48, 65, 200}) {
          const Tensor a = random_tensor({rows, inner}, 4);
          EXPECT_LE(largest_difference(product(a, packed, bias), in_f64(a, plain, bias)),
                    4e-7 * static_cast<double>(4 + inner))
              << name(dtype) << ", " << rows << " x " << inner << " x " << columns;
        }
      }
    }
}

TEST(PackedMatrix, AnF32ProductHasTheBitsOfThePlainOne) {
  for (const auto& [inner, columns] : kMatrices) {
    const Tensor b = random_tensor({inner, columns}, 1);
    const Tensor bias = random_tensor({columns}, 2);
    const PackedMatrix packed(b);
    for (const std::int64_t rows : {1, 3, 8, 100}) {
      const Tensor a = random_tensor({rows, inner}, 3);
      EXPECT_TRUE(same_bits(product(a, packed, bias), matmul({.a = a, .b = b, .bias = bias})))
          << rows << " x " << inner << " x " << columns;
    }
  }
}

TEST(PackedMatrix, ARowDependsOnNeitherOtherRowsNorThreads) {
  for (const DType dtype : kTypes)
    for (const bool in_bulk : {false, true}) {
      const PackedMatrix b(Tensor::converted(random_tensor({1100, 390}, 1), dtype));
      const Tensor a = random_tensor({410, 1100}, 2);
      const Tensor bias = random_tensor({390}, 3);
      set_thread_count(1);
      const Tensor all = product(a, b, bias, in_bulk);
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 16, 22, 47, 48, 193, 410}) {
          const Tensor some = product(a.view().slice(0, 410 - rows, 410), b, bias, in_bulk);
          EXPECT_TRUE(same_bits(some, all.view().slice(0, 410 - rows, 410)))
              << name(dtype) << (in_bulk ? " in bulk, " : ", ") << rows << " rows, " << threads
              << " threads";
        }
      }
    }
  set_thread_count(0);
}

// x and the weights have 8 bits each; the sum is f32.
TEST(PackedMatrix, InBulkBf16IsTheProductOfRoundedNumbers) {
  if (!kernels::has_fast_pairs()) GTEST_SKIP() << "no fast pairs of bf16 on this CPU";
  for (const auto& [inner, columns] : kMatrices) {
    const Tensor b = Tensor::converted(random_tensor({inner, columns}, 1), DType::kBF16);
    const Tensor bias = random_tensor({columns}, 2);
    const PackedMatrix packed(b);
    for (const std::int64_t rows : {1, 2, 12, 65}) {
      const Tensor a = random_tensor({rows, inner}, 3);
      const Tensor rounded = Tensor::converted(a, DType::kBF16);
      EXPECT_LE(largest_difference(product(a, packed, bias, true), in_f64(rounded, b, bias)),
                4e-7 * static_cast<double>(4 + inner))
          << rows << " x " << inner << " x " << columns;
    }
  }
}

TEST(PackedMatrix, ANumberThatIsNotFiniteStaysInItsRowAndColumn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const DType dtype : kTypes)
    for (const bool in_bulk : {false, true})
      for (const std::int64_t rows : {1, 3, 60}) {
        Tensor a = random_tensor({rows, 41}, 1);
        Tensor b = random_tensor({41, 70}, 2);
        a.data<float>()[(rows - 1) * 41 + 40] = std::nanf("");
        b.data<float>()[40 * 70 + 65] = kInfinity;
        const Tensor out = product(a, PackedMatrix(Tensor::converted(b, dtype)), {}, in_bulk);
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < 70; ++j) {
            const float value = out.data<float>()[i * 70 + j];
            EXPECT_EQ(std::isnan(value), i == rows - 1) << name(dtype) << i << ", " << j;
            EXPECT_EQ(std::isfinite(value), i != rows - 1 && j != 65) << name(dtype) << i << j;
          }
      }
}

TEST(PackedMatrix, WritesOnlyItsOwnPartOfWiderRows) {
  const PackedMatrix b(random_tensor({40, 50}, 1));
  const Tensor a = random_tensor({30, 90}, 2);
  Tensor out = Tensor::zeros({30, 60});
  matmul({.a = a.view().slice(1, 20, 60), .b = b}, out.view().slice(1, 5, 55));
  EXPECT_TRUE(same_bits(out.view().slice(1, 5, 55), product(a.view().slice(1, 20, 60), b)));
  EXPECT_EQ(largest_difference(out.view().slice(1, 0, 5), Tensor::zeros({30, 5})), 0);
  EXPECT_EQ(largest_difference(out.view().slice(1, 55, 60), Tensor::zeros({30, 5})), 0);
}

TEST(PackedMatrix, GivesItsColumnsBack) {
  for (const DType dtype : kTypes)
    for (const auto& [inner, columns] : kMatrices) {
      const Tensor b = Tensor::converted(random_tensor({inner, columns}, 1), dtype);
      const Tensor floats = Tensor::converted(b, DType::kF32);
      const PackedMatrix packed(b);
      Tensor column = Tensor::empty({inner});
      for (const std::int64_t j : {std::int64_t{0}, columns / 2, columns - 1}) {
        packed.copy_column(j, column.data<float>());
        EXPECT_EQ(largest_difference(column, floats.view().select(1, j)), 0) << name(dtype);
      }
    }
}

TEST(PackedMatrix, SaysWhatDoesNotFit) {
  EXPECT_HEED_ERROR(
      PackedMatrix(Tensor::zeros({2, 3}, DType::kF64)), ErrorCode::kInvalidArgument,
      "packed_matrix: b is f64 [2, 3], expected a matrix of f32, f16 or bf16 that is not empty");
  const PackedMatrix b(Tensor::zeros({2, 3}));
  Tensor out = Tensor::zeros({4, 3});
  const Tensor a = Tensor::zeros({4, 5});
  EXPECT_HEED_ERROR(matmul({.a = a, .b = b}, out), ErrorCode::kInvalidArgument,
                    "matmul: a is f32 [4, 5], expected f32 [rows, 2] (b's rows)");
}

}  // namespace
}  // namespace heed
