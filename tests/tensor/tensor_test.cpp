#include "heed/tensor.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "support/expect_error.h"

namespace heed {
namespace {

// A view of a temporary tensor would outlive its memory.
static_assert(std::is_convertible_v<Tensor&, View> && std::is_convertible_v<Tensor&, ConstView> &&
              std::is_convertible_v<const Tensor&, ConstView>);
static_assert(!std::is_convertible_v<Tensor, View> && !std::is_convertible_v<Tensor, ConstView> &&
              !std::is_convertible_v<const Tensor, ConstView> &&
              !std::is_assignable_v<ConstView&, Tensor>);

TEST(Tensor, ATypeThatIsNoneIsRefused) {
  const auto none = static_cast<DType>(77);
  EXPECT_HEED_ERROR(Tensor::empty({1}, none), ErrorCode::kInvalidArgument,
                    "tensor: dtype is 77, expected an enumerator from 0 to 8");
  EXPECT_HEED_ERROR(ConstView(nullptr, none, {1}), ErrorCode::kInvalidArgument,
                    "view: dtype is 77, expected an enumerator from 0 to 8");
}

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
