#include <gtest/gtest.h>

#include "heed/mask.h"
#include "support/expect_error.h"

namespace heed {
namespace {

TEST(Prefix, IsSeenByAllAndTheRestCausally) {
  const Mask mask = Mask::causal() | Mask::prefix({3});
  EXPECT_TRUE(mask.rule()->visible({}, 0, 2));
  EXPECT_FALSE(mask.rule()->visible({}, 0, 3));
  EXPECT_TRUE(mask.rule()->visible({}, 4, 4));
}

TEST(Prefix, StandsByPositionsSoThatAShardGivesThePartOfTheWhole) {
  const Mask mask = Mask::prefix({10});
  const MaskPlace shard = {.key_offset = 8};
  EXPECT_TRUE(mask.rule()->visible(shard, 0, 1));
  EXPECT_FALSE(mask.rule()->visible(shard, 0, 2));
}

TEST(Prefix, RefusesANegativeLength) {
  EXPECT_HEED_ERROR(Mask::prefix({4, -1}), ErrorCode::kInvalidArgument,
                    "prefix: lengths is -1, expected 0 to 2^60 keys");
}

TEST(Prefix, RefusesNoLengths) {
  EXPECT_HEED_ERROR(Mask::prefix({}), ErrorCode::kInvalidArgument,
                    "prefix: lengths is not given, expected one entry, or one per batch");
}

TEST(Prefix, RefusesAnotherCountThanTheBatch) {
  EXPECT_HEED_ERROR(Mask::prefix({1, 2}).rule()->check({.batch = 3}), ErrorCode::kInvalidArgument,
                    "prefix: lengths is a list of 2, expected one entry, or 3 (one per batch)");
}

}  // namespace
}  // namespace heed
