#include <gtest/gtest.h>

#include "heed/mask.h"
#include "support/expect_error.h"

namespace heed {
namespace {

bool even_key(const MaskPlace&, std::int64_t, std::int64_t key) { return key % 2 == 0; }

TEST(Custom, AsksTheCallersFunctions) {
  const Mask mask =
      Mask::custom({.visible = even_key, .tile = [](const MaskPlace&, const MaskTile& tile) {
                      return tile.key_begin < 0 ? TileClass::kFull : TileClass::kEmpty;
                    }});
  EXPECT_TRUE(mask.rule()->visible({}, 0, 2));
  EXPECT_FALSE(mask.rule()->visible({}, 0, 3));
  EXPECT_EQ(mask.rule()->tile({}, {0, 1, 0, 1}), TileClass::kEmpty);
  EXPECT_EQ(mask.describe(), "custom");
}

TEST(Custom, WithoutATileFunctionEveryTileIsPartial) {
  EXPECT_EQ(Mask::custom({.visible = even_key}).rule()->tile({}, {0, 1, 0, 1}),
            TileClass::kPartial);
}

TEST(Custom, NeedsVisible) {
  EXPECT_HEED_ERROR(Mask::custom({}), ErrorCode::kInvalidArgument,
                    "custom: visible is not given, expected a function");
}

}  // namespace
}  // namespace heed
