#include <gtest/gtest.h>

#include <cmath>

#include "heed/operators.h"
#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::largest_difference;
using test::random_tensor;
using test::same_bits;

// The definition in plain loops, for x of f64: position `first` + t.
Tensor plainly(const RopeArgs& args, std::int64_t first) {
  Tensor y = Tensor::copy_of(args.x);
  const std::int64_t turns = args.rotary_dim == 0 ? args.x.dim(3) : args.rotary_dim;
  for (std::int64_t row = 0; row < y.element_count() / y.dim(3); ++row) {
    double* own = y.data<double>() + row * y.dim(3);
    const auto position = static_cast<double>(first + row % y.dim(2));
    for (std::int64_t n = 0; n < turns / 2; ++n) {
      const bool halves = args.pairs == RopePairs::kHalves;
      double& a = own[halves ? n : 2 * n];
      double& b = own[halves ? n + turns / 2 : 2 * n + 1];
      const double angle = position * std::pow(args.base, -2.0 * static_cast<double>(n) /
                                                              static_cast<double>(turns));
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle);
      a = turned;
    }
  }
  return y;
}

TEST(Rope, AQuarterTurnByHand) {
  Tensor x = Tensor::zeros({1, 1, 1, 2}, DType::kF64);
  x.data<double>()[0] = 1;
  Tensor cosines = Tensor::zeros({1, 1, 1}, DType::kF64);
  Tensor sines = Tensor::zeros({1, 1, 1}, DType::kF64);
  sines.data<double>()[0] = 1;
  const Tensor y = rope({.x = x, .cosines = cosines, .sines = sines});
  EXPECT_EQ(y.data<double>()[0], 0);
  EXPECT_EQ(y.data<double>()[1], 1);
}

TEST(Rope, AgreesWithPlainLoops) {
  const Tensor x = random_tensor({2, 3, 7, 12}, 1, DType::kF64);
  for (const RopePairs pairs : {RopePairs::kHalves, RopePairs::kNeighbours}) {
    for (const std::int64_t turns : {0, 2, 8}) {
      for (const std::int64_t first : {0, 1000, -3}) {
        const RopeArgs args = {
            .x = x, .rotary_dim = turns, .pairs = pairs, .base = 500, .offset = {first}};
        EXPECT_LE(largest_difference(rope(args), plainly(args, first)), 1e-12);
      }
    }
  }
}

TEST(Rope, ScoresDependOnTheDistanceAlone) {
  const Tensor q = random_tensor({1, 1, 1, 16}, 2, DType::kF64);
  const Tensor k = random_tensor({1, 1, 1, 16}, 3, DType::kF64);
  const auto score = [&](std::int64_t i, std::int64_t j) {
    return test::weighted_sum(rope({.x = q, .offset = {i}}), rope({.x = k, .offset = {j}}));
  };
  EXPECT_NEAR(score(5, 2), score(105, 102), 1e-12);
  EXPECT_GT(std::abs(score(5, 2) - score(5, 3)), 1e-3);
}

TEST(Rope, PositionsOffsetsAndTablesSayTheSame) {
  const Tensor x = random_tensor({2, 2, 3, 8}, 4);
  Tensor positions = Tensor::empty({2, 3}, DType::kI64);
  Tensor cosines = Tensor::empty({10, 4});
  Tensor sines = Tensor::empty({10, 4});
  for (int p = 0; p < 10; ++p) {
    for (int n = 0; n < 4; ++n) {
      const double angle = p * std::pow(10000.0, -n / 4.0);
      cosines.data<float>()[p * 4 + n] = static_cast<float>(std::cos(angle));
      sines.data<float>()[p * 4 + n] = static_cast<float>(std::sin(angle));
    }
  }
  for (int i = 0; i < 6; ++i) positions.data<std::int64_t>()[i] = i < 3 ? 2 + i : 7 + i - 3;
  const Tensor by_offset = rope({.x = x, .offset = {2, 7}});
  const Tensor by_position = rope({.x = x, .positions = positions});
  const Tensor by_table =
      rope({.x = x, .positions = positions, .cosines = cosines, .sines = sines});
  EXPECT_TRUE(same_bits(by_offset, by_position));
  EXPECT_TRUE(same_bits(by_offset, by_table));
}

TEST(Rope, StridesDoNotMatter) {
  const Tensor x = random_tensor({2, 5, 3, 8}, 5);
  const ConstView heads_first = x.view().permute({0, 2, 1, 3});
  const Tensor straight = Tensor::copy_of(heads_first);
  EXPECT_TRUE(same_bits(rope({.x = heads_first}), rope({.x = straight})));
}

TEST(Rope, SixteenBitTypesAreRoundedOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = random_tensor({1, 2, 9, 16}, 6, dtype);
    const Tensor wide = Tensor::converted(x, DType::kF32);
    EXPECT_TRUE(same_bits(rope({.x = x}), Tensor::converted(rope({.x = wide}), dtype)));
  }
}

TEST(Rope, GradientsAreFiniteDifferences) {
  for (const RopePairs pairs : {RopePairs::kHalves, RopePairs::kNeighbours}) {
    Tensor x = random_tensor({2, 2, 3, 8}, 7, DType::kF64);
    const Tensor dy = random_tensor({2, 2, 3, 8}, 8, DType::kF64);
    const RopeArgs args = {.x = x, .rotary_dim = 6, .pairs = pairs, .offset = {4, 11}};
    const Tensor dx = rope_backward(args, dy);
    test::expect_gradient(x, dx, [&] { return test::weighted_sum(rope(args), dy); });
  }
}

TEST(Rope, BitsDoNotDependOnThreads) {
  const Tensor x = random_tensor({3, 5, 40, 32}, 9);
  set_thread_count(1);
  const Tensor one = rope({.x = x});
  set_thread_count(3);
  const Tensor three = rope({.x = x});
  set_thread_count(0);
  EXPECT_TRUE(same_bits(one, three));
}

TEST(Rope, ExtentsMayBeZero) {
  for (const Shape& shape : {Shape{2, 3, 0, 4}, Shape{0, 3, 2, 4}}) {
    const Tensor x = Tensor::zeros(shape);
    EXPECT_EQ(rope({.x = x}).shape(), shape);
  }
}

struct Wrong {
  RopeArgs args;
  const char* message;
};

TEST(Rope, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({2, 1, 3, 6});
  const Tensor flat = Tensor::zeros({3, 6});
  const Tensor table = Tensor::zeros({4, 3});
  Tensor positions = Tensor::zeros({2, 3}, DType::kI64);
  positions.data<std::int64_t>()[4] = 4;
  const Tensor short_positions = Tensor::zeros({2, 2}, DType::kI64);
  const Tensor of_two = Tensor::zeros({4, 2});
  const Wrong table_of_errors[] = {
      {{.x = flat}, "rope: x.shape is [3, 6], expected [B, H, T, D]"},
      {{.x = x, .rotary_dim = 5},
       "rope: rotary_dim is 5, expected an even number of at most D = 6"},
      {{.x = x, .rotary_dim = 8},
       "rope: rotary_dim is 8, expected an even number of at most D = 6"},
      {{.x = x, .base = 0}, "rope: base is 0, expected a positive number"},
      {{.x = x, .offset = {1, 2, 3}},
       "rope: offset is a list of 3, expected none, one or 2 entries (the batch)"},
      {{.x = x, .offset = {1}, .positions = positions},
       "rope: positions is given beside offset, expected one of them"},
      {{.x = x, .positions = short_positions},
       "rope: positions.shape is [2, 2], expected [2, 3] or [1, 3]"},
      {{.x = x, .cosines = table}, "rope: sines is not given, expected one, as cosines are given"},
      {{.x = x, .cosines = of_two, .sines = of_two},
       "rope: cosines.shape is [4, 2], expected [positions, 3] or [batch, tokens, 3]"},
      {{.x = x, .positions = positions, .cosines = table, .sines = table},
       "rope: cosines.shape[0] is 4, expected above 4, the position of a token"}};
  for (const Wrong& wrong : table_of_errors)
    EXPECT_HEED_ERROR(rope(wrong.args), ErrorCode::kInvalidArgument, wrong.message);
}

TEST(Rope, InPlaceAndBackAgainInStridedMemory) {
  Tensor memory = random_tensor({2, 5, 3, 8}, 1);  // [B, T, H, D]
  const Tensor before = memory.clone();
  const View x = memory.view().permute({0, 2, 1, 3});
  const Tensor expected = rope({.x = x, .rotary_dim = 6});
  rope({.x = x, .rotary_dim = 6}, x);
  EXPECT_TRUE(same_bits(x, expected));
  rope_backward({.x = x, .rotary_dim = 6}, x, x);
  EXPECT_LE(largest_difference(memory, before), 1e-6);
}

}  // namespace
}  // namespace heed
