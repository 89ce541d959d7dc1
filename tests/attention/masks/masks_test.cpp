// Compares every mask with its definition. A new mask is added to `every_mask` and is then tested
// alone and in compositions.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "heed/mask.h"
#include "heed/tensor.h"
#include "support/expect_error.h"

namespace heed {
namespace {

constexpr MaskTarget kTarget = {.batch = 2, .heads = 3, .query_length = 90, .key_length = 100};

// Values in blocks, so that some tiles are full and some are empty.
Tensor blocks_kept(const Shape& shape, unsigned seed) {
  Tensor kept = Tensor::empty(shape, DType::kBool);
  for (std::int64_t i = 0; i < kept.element_count(); ++i)
    kept.data<bool>()[i] = ((i / 37 + i % 100 / 30 + seed) * 2654435761U >> 5) % 3 != 0;
  return kept;
}

// Runs of equal numbers, each increasing by 0 or 1, except one step back.
Tensor runs(const Shape& shape, std::int64_t length) {
  Tensor ids = Tensor::empty(shape, DType::kI32);
  for (std::int64_t i = 0; i < ids.element_count(); ++i)
    ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(i / length % 5);
  return ids;
}

// Row i sees the keys [i, i + 20) and, if it is even, key 90.
Mask neighbours() {
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int64_t> columns;
  for (std::int64_t row = 0; row < kTarget.query_length; ++row) {
    for (std::int64_t key = row; key < std::min<std::int64_t>(row + 20, 90); ++key)
      columns.push_back(key);
    if (row % 2 == 0) columns.push_back(90);
    starts.push_back(std::ssize(columns));
  }
  return Mask::edges(ConstView(starts.data(), DType::kI64, Shape{std::ssize(starts)}),
                     ConstView(columns.data(), DType::kI64, Shape{std::ssize(columns)}));
}

Mask checkered() {
  return Mask::custom(
      {.visible = [](const MaskPlace& place, std::int64_t row,
                     std::int64_t key) { return (row + key + place.head) % 2 == 0; },
       .name = "checkered"});
}

struct Masks {
  std::vector<Tensor> memory;
  std::vector<Mask> all;
};

Masks every_mask() {
  Masks masks;
  masks.memory.push_back(blocks_kept({2, 3, 90, 100}, 1));
  masks.memory.push_back(blocks_kept({90, 100}, 2));
  masks.memory.push_back(blocks_kept({2, 1, 1, 100}, 3));
  masks.memory.push_back(blocks_kept({90, 1}, 4));
  for (const Tensor& tensor : masks.memory) masks.all.push_back(Mask::keep(tensor));
  masks.memory.push_back(blocks_kept({2, 3, 100, 90}, 7));  // keys apart in memory
  masks.all.push_back(Mask::keep(masks.memory.back().view().permute({0, 1, 3, 2})));
  masks.memory.push_back(Tensor::empty({90, 100}, DType::kU8));
  for (std::int64_t i = 0; i < 9000; ++i)  // any number but 0 is "may attend"
    masks.memory.back().data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 7 * 43);
  masks.all.push_back(Mask::keep(masks.memory.back()));
  masks.all.push_back(Mask::segments(runs({2, 90}, 17), runs({2, 100}, 20)));
  masks.all.push_back(Mask::segments(runs({90}, 70), runs({100}, 60)));
  masks.all.push_back(Mask::prefix({40}));
  masks.all.push_back(Mask::prefix({0, 77}));
  masks.memory.push_back(blocks_kept({3, 6, 4}, 5));
  masks.all.push_back(Mask::blocks(masks.memory.back(), {.rows = 16, .keys = 30}));
  masks.memory.push_back(blocks_kept({2, 1, 2, 2}, 6));
  masks.all.push_back(Mask::blocks(masks.memory.back()));
  masks.all.push_back(neighbours());
  masks.all.push_back(checkered());
  for (const Band& sides : {Band{-1, -1}, Band{-1, 0}, Band{0, -1}, Band{0, 0}, Band{7, 0},
                            Band{3, 70}, Band{-1, 5}, Band{64, 64}})
    masks.all.push_back(Mask::band(sides));
  return masks;
}

bool is_visible(const Mask& mask, const MaskPlace& place, std::int64_t row, std::int64_t key) {
  return mask.rule() == nullptr || mask.rule()->visible(place, row, key);
}

std::int64_t between(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

MaskTile random_tile(std::mt19937& random) {
  MaskTile tile;
  tile.row_begin = between(random, 0, kTarget.query_length - 1);
  tile.row_end = std::min(kTarget.query_length, tile.row_begin + between(random, 1, kMaskRows));
  tile.key_begin = between(random, 0, kTarget.key_length - 1);
  tile.key_end = between(random, tile.key_begin + 1, kTarget.key_length);
  return tile;
}

void expect_no_contradiction(const MaskRule& rule, const MaskPlace& place, const MaskTile& tile) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(tile.key_end - tile.key_begin));
  rule.bits(place, tile, words.data());
  const TileClass promised = rule.tile(place, tile);
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
    std::uint64_t expected = 0;
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      const bool visible = rule.visible(place, row, key);
      expected |= std::uint64_t{visible} << (row - tile.row_begin);
      ASSERT_FALSE(promised == (visible ? TileClass::kEmpty : TileClass::kFull)) << rule.describe();
    }
    ASSERT_EQ(words[static_cast<std::size_t>(key - tile.key_begin)], expected)
        << rule.describe() << " key " << key << " rows from " << tile.row_begin;
  }
}

TEST(Masks, VisibleOfAMaskIsThatOfItsRule) {
  const Masks masks = every_mask();
  const MaskPlace place = {.batch = 1, .head = 2, .q_offset = 10};
  for (const Mask& mask : masks.all)
    for (const std::int64_t row : {std::int64_t{0}, kTarget.query_length - 1})
      for (const std::int64_t key : {std::int64_t{3}, kTarget.key_length - 1})
        EXPECT_EQ(mask.visible(kTarget, place, row, key), is_visible(mask, place, row, key))
            << mask.describe();
}

TEST(Masks, APairThatTheProblemDoesNotHaveIsRefused) {
  const Tensor kept = Tensor::zeros({2, 3, 4, 5}, DType::kBool);
  const MaskTarget target = {.batch = 2, .heads = 3, .query_length = 4, .key_length = 5};
  for (const Mask& mask : {Mask::keep(kept), Mask::causal(), Mask()}) {
    const auto refused = [&](const MaskPlace& place, std::int64_t row, std::int64_t key,
                             const char* message) {
      EXPECT_HEED_ERROR(static_cast<void>(mask.visible(target, place, row, key)),
                        ErrorCode::kInvalidArgument, message);
    };
    refused({.batch = 2}, 0, 0, "mask: batch is 2, expected 0 to 1");
    refused({.head = -1}, 0, 0, "mask: head is -1, expected 0 to 2");
    refused({}, 4, 0, "mask: row is 4, expected 0 to 3");
    refused({}, 0, 5, "mask: key is 5, expected 0 to 4");
    refused({.q_offset = std::int64_t{1} << 61}, 0, 0,
            "mask: q_offset is 2305843009213693952, expected -2^60 to 2^60");
  }
  EXPECT_HEED_ERROR(static_cast<void>(Mask().visible({}, {}, 0, 0)), ErrorCode::kInvalidArgument,
                    "mask: batch is 0, expected none: there is no batch");
  EXPECT_HEED_ERROR(static_cast<void>(Mask::keep(kept).visible({2, 3, 4, 6}, {}, 0, 5)),
                    ErrorCode::kInvalidArgument,
                    "keep: keep.shape is [2, 3, 4, 5], expected one that broadcasts to [B, H, Tq, "
                    "Tk] = [2, 3, 4, 6]");
}

TEST(Masks, TileAndBitsNeverContradictVisible) {
  const Masks masks = every_mask();
  std::mt19937 random(7);
  const auto pick = [&] {
    return masks.all[static_cast<std::size_t>(
        between(random, 0, static_cast<std::int64_t>(masks.all.size()) - 1))];
  };
  for (int round = 0; round < 3000; ++round) {
    Mask mask = pick();
    for (std::int64_t joins = between(random, 0, 2); joins > 0; --joins)
      mask = between(random, 0, 1) == 0 ? mask & pick() : mask | pick();
    if (mask.rule() == nullptr) continue;
    mask.rule()->check(kTarget);
    const MaskPlace place = {between(random, 0, 1), between(random, 0, 2),
                             between(random, -120, 120), between(random, -120, 120)};
    expect_no_contradiction(*mask.rule(), place, random_tile(random));
  }
}

TEST(Masks, BandsKnowTheirFullAndEmptyTiles) {
  const Mask mask = Mask::causal();
  const MaskPlace place;
  EXPECT_EQ(mask.rule()->tile(place, {64, 128, 0, 64}), TileClass::kFull);
  EXPECT_EQ(mask.rule()->tile(place, {64, 128, 64, 128}), TileClass::kPartial);
  EXPECT_EQ(mask.rule()->tile(place, {64, 128, 128, 192}), TileClass::kEmpty);
}

TEST(Masks, AndIsBothAndOrIsEither) {
  const Mask left = Mask::band({.left = 2, .right = 0});
  const Mask right = Mask::band({.left = 0, .right = 2});
  const MaskPlace place;
  for (std::int64_t key = 0; key < 10; ++key) {
    EXPECT_EQ(is_visible(left & right, place, 5, key), key == 5);
    EXPECT_EQ(is_visible(left | right, place, 5, key), key >= 3 && key <= 7);
  }
}

TEST(Masks, EveryoneIsNeutralForAndAndWinsForOr) {
  EXPECT_EQ((Mask() & Mask::causal()).describe(), "band(left=-1, right=0)");
  EXPECT_EQ((Mask::causal() & Mask()).describe(), "band(left=-1, right=0)");
  EXPECT_EQ((Mask::causal() | Mask()).describe(), "none");
  EXPECT_EQ(Mask::band({}).describe(), "none");
}

TEST(Masks, DescribeThemselves) {
  const Tensor kept = blocks_kept({4, 4}, 0);
  EXPECT_EQ(((Mask::causal() & Mask::keep(kept)) | Mask::band({3, 1})).describe(),
            "((band(left=-1, right=0) & keep[4, 4]) | band(left=3, right=1))");
}

TEST(Band, RefusesASideBelowMinusOne) {
  EXPECT_HEED_ERROR(Mask::band({.left = -2}), ErrorCode::kInvalidArgument,
                    "band: left is -2, expected 0 to 2^60 keys, or -1 for open");
}

TEST(Keep, RefusesAFloat) {
  const Tensor values = Tensor::zeros({4, 4});
  EXPECT_HEED_ERROR(Mask::keep(values), ErrorCode::kInvalidArgument,
                    "keep: keep is f32, expected bool or u8; additive values are a bias");
}

TEST(Keep, RefusesATensorWithoutMemory) {
  EXPECT_HEED_ERROR(Mask::keep(ConstView(nullptr, DType::kBool, {4, 4})),
                    ErrorCode::kInvalidArgument, "keep: keep.data is null");
}

TEST(Keep, RefusesAShapeThatDoesNotBroadcast) {
  const Tensor kept = blocks_kept({2, 90, 100}, 0);
  EXPECT_HEED_ERROR(Mask::keep(kept).rule()->check(kTarget), ErrorCode::kInvalidArgument,
                    "keep: keep.shape is [2, 90, 100], expected one that broadcasts to [B, H, Tq, "
                    "Tk] = [2, 3, 90, 100]");
}

TEST(Keep, RefusesRankFive) {
  const Tensor kept = blocks_kept({1, 1, 1, 2, 2}, 0);
  EXPECT_HEED_ERROR(Mask::keep(kept), ErrorCode::kInvalidArgument,
                    "keep: keep.shape is [1, 1, 1, 2, 2], expected at most [B, H, Tq, Tk]");
}

}  // namespace
}  // namespace heed
