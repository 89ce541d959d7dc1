#include <gtest/gtest.h>

#include "heed/mask.h"
#include "heed/tensor.h"
#include "support/expect_error.h"

namespace heed {
namespace {

// Queries 0..3 see keys 0..1, queries 4..7 see keys 2..3.
Tensor diagonal() {
  Tensor layout = Tensor::zeros({2, 2}, DType::kBool);
  layout.data<bool>()[0] = layout.data<bool>()[3] = true;
  return layout;
}

TEST(Blocks, APairIsVisibleWhereItsBlockIs) {
  const Tensor layout = diagonal();
  const Mask mask = Mask::blocks(layout, {.rows = 4, .keys = 2});
  EXPECT_TRUE(mask.rule()->visible({}, 3, 1));
  EXPECT_FALSE(mask.rule()->visible({}, 3, 2));
  EXPECT_TRUE(mask.rule()->visible({}, 4, 2));
  EXPECT_EQ(mask.describe(), "blocks[2, 2] of 4 x 2");
}

TEST(Blocks, ATileOfOneBlockIsFullOrEmpty) {
  const Tensor layout = diagonal();
  const Mask mask = Mask::blocks(layout);
  EXPECT_EQ(mask.rule()->tile({}, {0, 64, 0, 64}), TileClass::kFull);
  EXPECT_EQ(mask.rule()->tile({}, {0, 64, 64, 100}), TileClass::kEmpty);
  EXPECT_EQ(mask.rule()->tile({}, {0, 64, 0, 100}), TileClass::kPartial);
}

TEST(Blocks, RefuseALayoutOfAnotherSize) {
  const Tensor layout = diagonal();
  EXPECT_HEED_ERROR(Mask::blocks(layout).rule()->check({1, 2, 129, 100}),
                    ErrorCode::kInvalidArgument,
                    "blocks: layout.shape is [2, 2], expected one that broadcasts to [B, H, blocks "
                    "of queries, blocks of keys] = [1, 2, 3, 2]");
}

TEST(Blocks, RefuseAnEmptyBlock) {
  const Tensor layout = diagonal();
  EXPECT_HEED_ERROR(Mask::blocks(layout, {.rows = 0}), ErrorCode::kInvalidArgument,
                    "blocks: size is 0 x 64, expected at least 1 x 1");
}

TEST(Blocks, RefuseAFloat) {
  EXPECT_HEED_ERROR(Mask::blocks(Tensor::zeros({2, 2})), ErrorCode::kInvalidArgument,
                    "blocks: layout is f32, expected bool or u8; additive values are a bias");
}

}  // namespace
}  // namespace heed
