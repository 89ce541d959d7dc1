#include "heed/tensor/tensor.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace heed {
namespace {

TEST(Tensor, AShapeThatNoMemoryHoldsIsRefused) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_HEED_ERROR(Tensor::empty({large, large}), ErrorCode::kInvalidArgument,
                    "tensor: shape [1099511627776, 1099511627776] of f32 takes 2^63 bytes or more, "
                    "expected less");
  EXPECT_HEED_ERROR(
      Tensor::empty({std::int64_t{1} << 62, 4}, DType::kF32), ErrorCode::kInvalidArgument,
      "tensor: shape [4611686018427387904, 4] of f32 takes 2^63 bytes or more, expected "
      "less");
}

TEST(Tensor, OneZeroExtentMakesALargeShapeEmpty) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(Tensor::zeros({large, 0, large}).element_count(), 0);
}

TEST(Tensor, WithoutMemoryTheShapeIsNamed) {
  EXPECT_HEED_ERROR(
      Tensor::empty({std::int64_t{1} << 55}), ErrorCode::kFailed,
      "tensor: out of memory: [36028797018963968] of f32 takes 144115188075855872 bytes");
}

}  // namespace
}  // namespace heed
