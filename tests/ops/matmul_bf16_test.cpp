// Products of bf16: of f32 operands that are rounded on the way.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "heed/threads.h"
#include "ops/kernels/matmul.h"
#include "ops/matmul.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;
using test::same_bits;

Tensor rounded(const Tensor& x) {
  return Tensor::converted(Tensor::converted(x, DType::kBF16), DType::kF32);
}

struct Case {
  std::int64_t rows, inner, columns;
  bool a_turned, b_turned;  // lie by columns
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto [rows, inner, columns] : {std::array<std::int64_t, 3>{1, 7, 5},
                                            {5, 64, 33},
                                            {12, 65, 32},
                                            {17, 128, 100},
                                            {70, 513, 31},
                                            {96, 1024, 64},
                                            {384, 128, 384},
                                            {23, 2, 1}})
    for (const bool a_turned : {false, true})
      for (const bool b_turned : {false, true})
        all.push_back({rows, inner, columns, a_turned, b_turned});
  return all;
}

ConstView seen(const Tensor& x, bool turned) {
  return turned ? x.view().permute({1, 0}) : x.view();
}

class MatmulBf16 : public testing::Test {
 protected:
  MatmulBf16() {
    if (!bf16_pays()) skips_ = true;
  }
  bool skips_ = false;
};

void expect_product_of_rounded(const Case& c) {
  const Tensor a = random_tensor(c.a_turned ? Shape{c.inner, c.rows} : Shape{c.rows, c.inner}, 1);
  const Tensor b =
      random_tensor(c.b_turned ? Shape{c.columns, c.inner} : Shape{c.inner, c.columns}, 2);
  const Tensor a_rounded = rounded(a);
  const Tensor b_rounded = rounded(b);
  const Tensor bias = random_tensor({c.columns}, 3);
  Tensor out = random_tensor({c.rows, c.columns}, 4);
  Tensor expected = out.clone();
  MatmulArgs args = {.a = seen(a_rounded, c.a_turned),
                     .b = seen(b_rounded, c.b_turned),
                     .bias = bias,
                     .accumulate = true};
  matmul(args, expected);
  args.a = seen(a, c.a_turned);
  args.b = seen(b, c.b_turned);
  args.in_bulk = c.rows >= 64;
  args.bf16 = true;
  matmul(args, out);
  const double ties = kernels::has_amx() ? 0.05 : 1e-5;  // AMX rounds them away from zero
  EXPECT_LT(test::largest_difference(out, expected), ties + 2e-6 * static_cast<double>(c.inner))
      << c.rows << " " << c.inner << " " << c.columns << " " << c.a_turned << c.b_turned;
}

// Products of bf16 are exact in f32, so only the order of sums differs.
TEST_F(MatmulBf16, IsTheProductOfRoundedOperandsHoweverTheyLie) {
  if (skips_) GTEST_SKIP() << "this CPU multiplies bf16 no faster than f32";
  for (const Case& c : cases())
    if (c.rows >= 64 || kernels::has_fast_pairs()) expect_product_of_rounded(c);
}

TEST_F(MatmulBf16, HasTheSameBitsForAnyNumberOfThreadsAndOtherRows) {
  const Tensor a = random_tensor({333, 700}, 1);
  const Tensor b = random_tensor({700, 600}, 2);
  set_thread_count(1);
  const Tensor alone = matmul({.a = a, .b = b, .in_bulk = true, .bf16 = true});
  for (const int threads : {2, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(matmul({.a = a, .b = b, .in_bulk = true, .bf16 = true}), alone));
  }
  set_thread_count(0);
  const Tensor some =
      matmul({.a = a.view().slice(0, 100, 203), .b = b, .in_bulk = true, .bf16 = true});
  EXPECT_TRUE(same_bits(some, alone.view().slice(0, 100, 203)));
}

TEST_F(MatmulBf16, KeepsWhatIsNotFinite) {
  if (skips_) GTEST_SKIP() << "this CPU multiplies bf16 no faster than f32";
  for (const bool in_a : {true, false}) {
    Tensor a = random_tensor({70, 40}, 1);
    Tensor b = random_tensor({40, 50}, 2);
    (in_a ? a.data<float>()[33 * 40 + 7] : b.data<float>()[7 * 50 + 3]) = NAN;
    const Tensor out = matmul({.a = a, .b = b, .in_bulk = true, .bf16 = true});
    EXPECT_TRUE(std::isnan(out.data<float>()[33 * 50 + 3]));
    EXPECT_FALSE(std::isnan(out.data<float>()[32 * 50 + 4]));
  }
}

TEST_F(MatmulBf16, IsTheProductOfF32WhereThatIsAsFast) {
  if (!skips_) GTEST_SKIP() << "this CPU multiplies bf16 faster";
  const Tensor a = random_tensor({70, 40}, 1);
  const Tensor b = random_tensor({40, 50}, 2);
  EXPECT_TRUE(same_bits(matmul({.a = a, .b = b, .bf16 = true}), matmul({.a = a, .b = b})));
}

}  // namespace
}  // namespace heed
