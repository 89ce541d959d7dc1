#include "heed/tensor/tensor.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace heed {
namespace {

TEST(Tensor, AShapeThatNoMemoryHoldsIsRefused) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_HEED_ERROR(
      Tensor::empty({large, large}), ErrorCode::kInvalidArgument,
      "tensor: shape is [1099511627776, 1099511627776], expected less than 2^63 bytes of f32");
  EXPECT_HEED_ERROR(
      Tensor::empty({std::int64_t{1} << 62, 4}, DType::kF32), ErrorCode::kInvalidArgument,
      "tensor: shape is [4611686018427387904, 4], expected less than 2^63 bytes of f32");
}

TEST(Tensor, OneZeroExtentMakesALargeShapeEmpty) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(Tensor::zeros({large, 0, large}).element_count(), 0);
}

TEST(Tensor, WithoutMemoryTheShapeIsNamed) {
  EXPECT_HEED_ERROR(
      Tensor::empty({std::int64_t{1} << 55}), ErrorCode::kFailed,
      "tensor: out of memory: f32 [36028797018963968] takes 144115188075855872 bytes");
}

}  // namespace
}  // namespace heed
