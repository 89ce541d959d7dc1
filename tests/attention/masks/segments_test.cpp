#include <gtest/gtest.h>

#include "heed/mask.h"
#include "heed/tensor.h"
#include "support/expect_error.h"

namespace heed {
namespace {

Tensor ids(std::initializer_list<std::int32_t> values) {
  Tensor tensor = Tensor::empty({static_cast<std::int64_t>(values.size())}, DType::kI32);
  std::ranges::copy(values, tensor.data<std::int32_t>());
  return tensor;
}

TEST(Segments, AQuerySeesTheKeysOfItsOwnDocument) {
  const Mask mask = Mask::segments(ids({0, 0, 7}), ids({0, 7, 7, 3}));
  EXPECT_TRUE(mask.rule()->visible({}, 1, 0));
  EXPECT_FALSE(mask.rule()->visible({}, 1, 1));
  EXPECT_TRUE(mask.rule()->visible({}, 2, 2));
  EXPECT_FALSE(mask.rule()->visible({}, 2, 3));
}

TEST(Segments, KnowTheirFullAndEmptyTiles) {
  const Mask mask = Mask::segments(ids({1, 1, 2, 2}));
  EXPECT_EQ(mask.rule()->tile({}, {0, 2, 0, 2}), TileClass::kFull);
  EXPECT_EQ(mask.rule()->tile({}, {0, 2, 2, 4}), TileClass::kEmpty);
  EXPECT_EQ(mask.rule()->tile({}, {0, 2, 1, 3}), TileClass::kPartial);
}

TEST(Segments, RefuseFloats) {
  EXPECT_HEED_ERROR(Mask::segments(Tensor::zeros({4})), ErrorCode::kInvalidArgument,
                    "segments: query_ids is f32, expected i64 or i32");
}

TEST(Segments, RefuseIdsWithoutMemory) {
  EXPECT_HEED_ERROR(Mask::segments(ConstView(nullptr, DType::kI32, {4})),
                    ErrorCode::kInvalidArgument, "segments: query_ids.data is null");
}

TEST(Segments, RefuseRankThree) {
  EXPECT_HEED_ERROR(Mask::segments(Tensor::zeros({1, 1, 4}, DType::kI32)),
                    ErrorCode::kInvalidArgument,
                    "segments: query_ids.shape is [1, 1, 4], expected [T] or [B, T]");
}

TEST(Segments, RefuseAnotherLength) {
  EXPECT_HEED_ERROR(Mask::segments(ids({1, 1, 2}))
                        .rule()
                        ->check({.batch = 2, .query_length = 3, .key_length = 4}),
                    ErrorCode::kInvalidArgument,
                    "segments: key_ids.shape is [1, 3], expected [2, 4], or one row for all");
}

}  // namespace
}  // namespace heed
