#include "ops/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {

using test::largest_difference;
using test::random_tensor;
using test::same_bits;

struct Extents3 {
  std::int64_t rows, inner, columns;
};

constexpr Extents3 kExtents[] = {{1, 1, 1},     {1, 128, 65},    {3, 5, 7},       {17, 33, 1},
                                 {64, 1, 64},   {65, 48, 144},   {129, 64, 27},   {200, 512, 128},
                                 {31, 128, 97}, {768, 128, 384}, {16, 1100, 530}, {48, 32, 16}};

// The f64 product of the same numbers, and how far f32 may be from it: each of K additions
// rounds a partial sum of about sqrt(K).
void expect_near_f64(const MatmulArgs& args, const ConstView& got) {
  const Tensor a = Tensor::converted(args.a, DType::kF64);
  const Tensor b = Tensor::converted(args.b, DType::kF64);
  const Tensor bias = args.bias.given() ? Tensor::converted(args.bias, DType::kF64) : Tensor();
  const Tensor expected =
      matmul({.a = a, .b = b, .bias = args.bias.given() ? bias.view() : ConstView()});
  EXPECT_LE(largest_difference(got, expected), 4e-7 * static_cast<double>(4 + args.a.dim(1)))
      << to_string(args.a.shape()) << " x " << to_string(args.b.shape());
}

TEST(Matmul, AgreesWithF64ForEveryTranspose) {
  for (const auto& [rows, inner, columns] : kExtents) {
    const Tensor a = random_tensor({rows, inner}, 1);
    const Tensor at = random_tensor({inner, rows}, 2);
    const Tensor b = random_tensor({inner, columns}, 3);
    const Tensor bt = random_tensor({columns, inner}, 4);
    for (const ConstView& left : {a.view(), at.view().permute({1, 0})}) {
      for (const ConstView& right : {b.view(), bt.view().permute({1, 0})}) {
        for (const bool in_bulk : {false, true}) {
          const MatmulArgs args = {.a = left, .b = right, .in_bulk = in_bulk};
          expect_near_f64(args, matmul(args));
        }
      }
    }
  }
}

TEST(Matmul, AddsTheBiasToEveryRow) {
  for (const auto& [rows, inner, columns] : kExtents) {
    const Tensor a = random_tensor({rows, inner}, 1);
    const Tensor b = random_tensor({inner, columns}, 2);
    const Tensor bias = random_tensor({columns}, 3);
    for (const bool in_bulk : {false, true}) {
      const MatmulArgs args = {.a = a, .b = b, .bias = bias, .in_bulk = in_bulk};
      expect_near_f64(args, matmul(args));
    }
  }
}

TEST(Matmul, AccumulatesOnWhatIsThere) {
  const Tensor x = random_tensor({50, 20}, 1);
  const Tensor dy = random_tensor({50, 70}, 2);
  for (const bool in_bulk : {false, true}) {
    Tensor sum = Tensor::zeros({20, 70});
    const MatmulArgs args = {
        .a = x.view().permute({1, 0}), .b = dy, .accumulate = true, .in_bulk = in_bulk};
    matmul(args, sum);
    matmul(args, sum);
    Tensor once = matmul({.a = args.a, .b = args.b});
    for (std::int64_t i = 0; i < once.element_count(); ++i) once.data<float>()[i] *= 2;
    EXPECT_LE(largest_difference(sum, once), 2e-5);
  }
}

TEST(Matmul, TakesPartsOfLargerMatricesAsTheyLie) {
  const Tensor wide = random_tensor({40, 96}, 1);
  const Tensor b = random_tensor({32, 50}, 2);
  for (const bool in_bulk : {false, true}) {
    const MatmulArgs args = {
        .a = wide.view().slice(1, 32, 64), .b = b.view().slice(1, 10, 30), .in_bulk = in_bulk};
    Tensor out = Tensor::zeros({40, 60});
    matmul(args, out.view().slice(1, 20, 40));
    expect_near_f64(args, out.view().slice(1, 20, 40));
    EXPECT_EQ(largest_difference(out.view().slice(1, 0, 20), Tensor::zeros({40, 20})), 0);
    EXPECT_EQ(largest_difference(out.view().slice(1, 40, 60), Tensor::zeros({40, 20})), 0);
  }
}

TEST(Matmul, TakesAnyStrides) {
  const Tensor a = random_tensor({20, 30, 2}, 1);
  const Tensor b = random_tensor({1, 7}, 2);
  for (const std::int64_t rows : {1, 20}) {
    const MatmulArgs args = {.a = a.view().select(2, 1).slice(0, 0, rows),
                             .b = b.view().broadcast_to({30, 7})};
    expect_near_f64(args, matmul(args));
  }
}

// A model's answer for a text must not depend on the rest of the batch.
void expect_rows_stand_alone(std::int64_t inner, std::int64_t columns, bool in_bulk) {
  const Tensor a = random_tensor({512, inner}, 1);
  const Tensor b = random_tensor({inner, columns}, 2);
  const Tensor bt = random_tensor({columns, inner}, 3);
  const Tensor bias = random_tensor({columns}, 4);
  for (const ConstView& right : {b.view(), bt.view().permute({1, 0})}) {
    set_thread_count(1);
    const Tensor all = matmul({.a = a, .b = right, .bias = bias, .in_bulk = in_bulk});
    for (const int threads : {1, 2}) {
      set_thread_count(threads);
      for (const int rows :
           {1, 2, 3, 5, 8, 15, 16, 17, 31, 47, 63, 64, 65, 96, 127, 200, 333, 511, 512}) {
        const Tensor part =
            matmul({.a = a.view().slice(0, 0, rows), .b = right, .bias = bias, .in_bulk = in_bulk});
        EXPECT_TRUE(same_bits(part, all.view().slice(0, 0, rows)))
            << rows << " rows, " << threads << " threads, K " << inner << ", N " << columns;
      }
    }
  }
  set_thread_count(0);
}

TEST(Matmul, ARowDoesNotDependOnOtherRowsOrThreads) {
  for (const auto& [inner, columns] :
       {std::pair(128, 384), std::pair(512, 128), std::pair(384, 65), std::pair(768, 3072)})
    for (const bool in_bulk : {false, true}) expect_rows_stand_alone(inner, columns, in_bulk);
}

TEST(Matmul, WeightGradientsHaveTheSameBitsForAnyNumberOfThreads) {
  const Tensor x = random_tensor({700, 333}, 1);
  const Tensor dy = random_tensor({700, 600}, 2);
  const MatmulArgs args = {.a = x.view().permute({1, 0}), .b = dy};
  set_thread_count(1);
  const Tensor alone = matmul(args);
  for (const int threads : {2, 3, 5}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(matmul(args), alone)) << threads;
  }
  set_thread_count(0);
}

// 1 to 3 rows, strips of every size, and both orders of b are different code.
TEST(Matmul, EveryNumberOfRowsAgreesWithF64) {
  for (const auto& [inner, columns] : {std::pair(37, 70), std::pair(1027, 33), std::pair(512, 96)})
    for (std::int64_t rows = 1; rows <= 26; ++rows) {
      const Tensor a = random_tensor({rows, inner}, 1);
      const Tensor b = random_tensor({inner, columns}, 2);
      const Tensor bt = random_tensor({columns, inner}, 3);
      expect_near_f64({.a = a, .b = b}, matmul({.a = a, .b = b}));
      expect_near_f64({.a = a, .b = bt.view().permute({1, 0})},
                      matmul({.a = a, .b = bt.view().permute({1, 0})}));
    }
}

TEST(Matmul, ANumberThatIsNotFiniteStaysInItsRowAndColumn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t rows : {1, 3, 30}) {
    Tensor a = random_tensor({rows, 40}, 1);
    Tensor b = random_tensor({40, 70}, 2);
    a.data<float>()[(rows - 1) * 40 + 7] = std::nanf("");
    b.data<float>()[5 * 70 + 65] = kInfinity;
    const Tensor out = matmul({.a = a, .b = b});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < 70; ++j) {
        const float value = out.data<float>()[i * 70 + j];
        EXPECT_EQ(std::isnan(value), i == rows - 1) << i << ", " << j;
        EXPECT_EQ(std::isfinite(value), i != rows - 1 && j != 65) << i << ", " << j;
      }
  }
}

TEST(Matmul, ZeroExtentsAreLegal) {
  const Tensor bias = random_tensor({3}, 1);
  const auto product = [](const Shape& a_shape, const Shape& b_shape, const ConstView& added) {
    const Tensor a = Tensor::empty(a_shape), b = Tensor::empty(b_shape);
    return matmul({.a = a, .b = b, .bias = added});
  };
  EXPECT_EQ(product({0, 4}, {4, 3}, {}).shape(), (Shape{0, 3}));
  EXPECT_EQ(product({2, 4}, {4, 0}, {}).shape(), (Shape{2, 0}));
  const Tensor only_bias = product({2, 0}, {0, 3}, bias);
  EXPECT_EQ(largest_difference(only_bias, bias.view().broadcast_to({2, 3})), 0);
}

TEST(Matmul, SaysWhatDoesNotFit) {
  const Tensor a = Tensor::zeros({2, 3});
  const Tensor b = Tensor::zeros({4, 5});
  EXPECT_HEED_ERROR(matmul({.a = a, .b = b}), ErrorCode::kInvalidArgument,
                    "matmul: b.shape[0] is 4, expected 3 (a.shape[1])");
  const Tensor of_f64 = Tensor::zeros({5, 1}, DType::kF64);
  EXPECT_HEED_ERROR(matmul({.a = b, .b = of_f64}), ErrorCode::kInvalidArgument,
                    "matmul: b is f64, expected f32 (a's type)");
}

}  // namespace heed
