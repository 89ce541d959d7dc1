#include "ops/kernels/pool_lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.h"

namespace heed::kernels {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct Tile {
  std::vector<float> values;
  std::vector<std::uint64_t> visible;

  // A third of the keys are seen by all rows, a third by some, a third by none.
  explicit Tile(std::size_t keys) {
    Random random(3);
    for (std::size_t key = 0; key < keys; ++key) {
      const std::uint64_t some = random.below(UINT64_MAX);
      visible.push_back(key % 3 == 0 ? UINT64_MAX : key % 3 == 1 ? some : 0);
      for (std::int64_t row = 0; row < kMaskRows; ++row)
        values.push_back(static_cast<float>(random.normal()));
    }
  }
  std::int64_t keys() const { return std::ssize(visible); }
  bool sees(std::size_t row, std::size_t key, std::uint64_t rows) const {
    return (visible[key] & rows & (std::uint64_t{1} << row)) != 0;
  }
};

void expect_pools(const Tile& tile, std::uint64_t rows, const LanePools& pools, int fold) {
  for (std::size_t entry = 0; entry < std::size_t{kMaskRows} >> fold; ++entry) {
    float largest = kNothing;
    double sum = 0;
    int visible = 0;
    for (std::size_t row = entry << fold; row < (entry + 1) << fold; ++row)
      for (std::size_t key = 0; key < tile.visible.size(); ++key) {
        if (!tile.sees(row, key, rows)) continue;
        const float value = tile.values[key * kMaskRows + row];
        largest = std::max(largest, value);
        sum += static_cast<double>(value);
        ++visible;
      }
    EXPECT_EQ(pools.largest[entry], largest) << entry;
    if (!pools.sums) continue;
    EXPECT_NEAR(pools.sum[entry], sum, 1e-4) << entry;
    EXPECT_EQ(pools.visible[entry], visible) << entry;
  }
}

TEST(PoolLanes, EachRowHoldsItsVisibleKeys) {
  const Tile tile(17);
  LanePools pools;
  cpu::pool_lanes(tile.values.data(), tile.visible.data(), tile.keys(), UINT64_MAX, pools);
  expect_pools(tile, UINT64_MAX, pools, 0);
}

TEST(PoolLanes, RowsThatAreNotWantedHoldNothing) {
  const Tile tile(9);
  const std::uint64_t rows = 0x00ff0ff00ffff00f;
  LanePools pools;
  cpu::pool_lanes(tile.values.data(), tile.visible.data(), tile.keys(), rows, pools);
  expect_pools(tile, rows, pools, 0);
}

TEST(PoolLanes, FoldsNeighboursAnyNumberOfTimes) {
  const Tile tile(12);
  for (int fold = 1; fold <= 6; ++fold) {
    LanePools pools;
    cpu::pool_lanes(tile.values.data(), tile.visible.data(), tile.keys(), UINT64_MAX, pools);
    cpu::fold_lanes(pools, fold);
    expect_pools(tile, UINT64_MAX, pools, fold);
  }
}

TEST(PoolLanes, LeavesOutSumsThatNobodyAskedFor) {
  const Tile tile(12);
  LanePools pools;
  pools.sums = false;
  pools.sum.fill(-1);
  cpu::pool_lanes(tile.values.data(), tile.visible.data(), tile.keys(), UINT64_MAX, pools);
  cpu::fold_lanes(pools, 2);
  expect_pools(tile, UINT64_MAX, pools, 2);
  EXPECT_EQ(pools.sum[0], -1);
}

TEST(PoolLanes, KeepsWhatIsNoNumber) {
  Tile tile(3);
  tile.visible = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
  for (std::size_t key = 0; key < 3; ++key)
    tile.values[key * kMaskRows + 5 + key] = std::numeric_limits<float>::quiet_NaN();
  LanePools pools;
  cpu::pool_lanes(tile.values.data(), tile.visible.data(), 3, UINT64_MAX, pools);
  for (std::size_t row = 0; row < kMaskRows; ++row)
    EXPECT_EQ(std::isnan(pools.largest[row]), row >= 5 && row < 8) << row;
  cpu::fold_lanes(pools, 6);
  EXPECT_TRUE(std::isnan(pools.largest[0]));
}

}  // namespace
}  // namespace heed::kernels
