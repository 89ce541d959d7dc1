#include "nn/position_bias.h"

#include <gtest/gtest.h>

#include "nn/embedding.h"
#include "nn/gradient_support.h"

namespace heed {
namespace {

TEST(PositionBias, NearDistancesHaveABucketEachAndFarOnesShareTheLast) {
  const PositionBias decoder("bias", {.buckets = 8, .farthest = 16, .both_sides = false});
  EXPECT_EQ(decoder.bucket_of(0), 0);
  EXPECT_EQ(decoder.bucket_of(-3), 3);
  EXPECT_EQ(decoder.bucket_of(-4), 4);
  EXPECT_EQ(decoder.bucket_of(-16), 7);
  EXPECT_EQ(decoder.bucket_of(-1000), 7);
  EXPECT_EQ(decoder.bucket_of(5), 0);  // behind the query: hidden by the mask
}

TEST(PositionBias, KeysBehindTheQueryHaveBucketsOfTheirOwn) {
  const PositionBias encoder("bias", {.buckets = 8, .farthest = 16, .both_sides = true});
  EXPECT_EQ(encoder.bucket_of(0), 0);
  EXPECT_EQ(encoder.bucket_of(-1), 1);
  EXPECT_EQ(encoder.bucket_of(1), 5);
  EXPECT_EQ(encoder.bucket_of(-100), 3);
  EXPECT_EQ(encoder.bucket_of(100), 7);
}

TEST(PositionBias, DependsOnTheDistanceAlone) {
  PositionBias bias("bias", {.buckets = 8, .heads = 2, .farthest = 16, .both_sides = false});
  test::randomise(test::parameters_of(bias));
  const std::int64_t firsts[] = {0, 4};
  const BiasByDistance by_distance = bias.forward(firsts, 3, 7);
  EXPECT_EQ(by_distance.numbers.shape(), (Shape{2, 2, 9}));  // linear in the text
  const Tensor all = Tensor::copy_of(by_distance.cells);
  EXPECT_EQ(all.shape(), (Shape{2, 2, 3, 7}));
  // Query 2 at position 2 sees key 0 as query 0 at position 4 sees key 2.
  const auto at = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    return all.data<double>()[((b * 2 + 1) * 3 + i) * 7 + j];
  };
  EXPECT_EQ(at(0, 2, 0), at(1, 0, 2));
  EXPECT_NE(at(0, 2, 0), at(0, 2, 1));
}

TEST(PositionBias, EachCellIsTheTablesNumberForItsBucket) {
  PositionBias bias("bias", {.buckets = 8, .heads = 3, .farthest = 16, .both_sides = true});
  test::randomise(test::parameters_of(bias));
  const double* table = test::parameters_of(bias)[0]->value.data<double>();
  const std::int64_t firsts[] = {0, 4};
  const Tensor cells = Tensor::copy_of(bias.forward(firsts, 5, 11).cells);
  const double* cell = cells.data<double>();
  for (const std::int64_t first : firsts)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t i = 0; i < 5; ++i)
        for (std::int64_t j = 0; j < 11; ++j)
          EXPECT_EQ(*cell++, table[bias.bucket_of(j - (first + i)) * 3 + h]);
}

TEST(PositionBias, GradientsAreFiniteDifferences) {
  PositionBias bias("bias", {.buckets = 8, .heads = 2, .farthest = 16});
  test::randomise(test::parameters_of(bias));
  const std::int64_t firsts[] = {0, 2};
  const Tensor dy = test::random_tensor({2, 2, 3, 5}, 1, DType::kF64);
  Gradients gradients;
  bias.backward(dy, firsts, gradients);
  Parameter& table = *test::parameters_of(bias)[0];
  test::expect_gradient(table.value, gradients.of(table), [&] {
    return test::weighted_sum(Tensor::copy_of(bias.forward(firsts, 3, 5).cells), dy);
  });
}

TEST(Sinusoids, AreSinesAndThenCosines) {
  Tensor positions = Tensor::zeros({1, 2}, DType::kI32);
  positions.data<std::int32_t>()[1] = 3;
  const Tensor rows = sinusoids(positions, {.width = 4}, DType::kF64);
  const double* values = rows.data<double>();
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[2], 1);
  EXPECT_NEAR(values[4], std::sin(3.0), 1e-15);
  EXPECT_NEAR(values[5], std::sin(0.03), 1e-15);
  EXPECT_NEAR(values[6], std::cos(3.0), 1e-15);
  EXPECT_NEAR(values[7], std::cos(0.03), 1e-15);
}

TEST(Sinusoids, MayReachTheBaseAndLeaveAPositionAndTheOddColumnAtZero) {
  Tensor positions = Tensor::zeros({1, 2}, DType::kI32);
  positions.data<std::int32_t>()[0] = 1;
  positions.data<std::int32_t>()[1] = 3;
  const Tensor rows =
      sinusoids(positions, {.width = 5, .reaches_base = true, .zero = 1}, DType::kF64);
  const double expected[] = {
      0, 0, 0, 0, 0, std::sin(3.0), std::sin(3e-4), std::cos(3.0), std::cos(3e-4), 0};
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(rows.data<double>()[i], expected[i], 1e-15) << i;
}

}  // namespace
}  // namespace heed
