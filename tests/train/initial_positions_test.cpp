#include "train/initial_positions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

// Values of size 0.02, then sinusoids.
Parameter table_of(std::int64_t positions, std::int64_t width) {
  Parameter table{.name = "p", .value = Tensor::empty({positions, width})};
  for (std::int64_t i = 0; i < positions * width; ++i)
    table.value.data<float>()[i] = i % 2 == 0 ? 0.02F : -0.02F;
  start_sinusoidal(table);
  return table;
}

// Dot product of two rows.
double dot(const Tensor& table, std::int64_t p, std::int64_t q) {
  const std::int64_t width = table.dim(1);
  const float* values = table.data<float>();
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += values[p * width + c] * values[q * width + c];
  return sum;
}

TEST(InitialPositions, AreAsLargeAsRandomOnes) {
  const Parameter table = table_of(256, 64);
  for (std::int64_t p = 0; p < 256; ++p)
    EXPECT_NEAR(std::sqrt(dot(table.value, p, p) / 64), 0.02, 1e-7);
}

TEST(InitialPositions, LookAlikeByTheirDistanceAlone) {
  const Parameter table = table_of(256, 64);
  for (std::int64_t p = 1; p < 255; ++p) {
    EXPECT_NEAR(dot(table.value, p, p + 1), dot(table.value, 0, 1), 1e-7);
    EXPECT_LT(dot(table.value, 0, p), dot(table.value, 0, 0));
  }
}

TEST(InitialPositions, OfAnOddWidthFillIt) {
  const Parameter table = table_of(2, 3);
  EXPECT_EQ(table.value.data<float>()[0], 0);
  EXPECT_GT(table.value.data<float>()[2], 0.02F);  // cos 0
}

}  // namespace
}  // namespace heed
