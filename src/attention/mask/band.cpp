#include <fmt/format.h>

#include <algorithm>

#include "attention/mask/bit_words.h"
#include "heed/error.h"
#include "heed/mask.h"

namespace heed {
namespace {

constexpr std::int64_t kOpen = -1;

// Row i sees the keys j with i + low <= j <= i + high: a band in positions is also a band in
// indices, shifted by the offsets.
struct Diagonals {
  bool open_low = true;
  bool open_high = true;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

class BandRule : public MaskRule {
 public:
  explicit BandRule(const Band& sides) : sides_(sides) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    const std::int64_t distance = (place.q_offset + row) - (place.key_offset + key);  // p_i - p_j
    return (sides_.left == kOpen || distance <= sides_.left) &&
           (sides_.right == kOpen || -distance <= sides_.right);
  }

  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    const Diagonals band = diagonals(place);
    const std::int64_t least = tile.key_begin - (tile.row_end - 1);  // of j - i in the tile
    const std::int64_t most = tile.key_end - 1 - tile.row_begin;
    if (!band.open_low && most < band.low) return TileClass::kEmpty;
    if (!band.open_high && least > band.high) return TileClass::kEmpty;
    const bool full = (band.open_low || least >= band.low) && (band.open_high || most <= band.high);
    return full ? TileClass::kFull : TileClass::kPartial;
  }

  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    const Diagonals band = diagonals(place);
    const std::int64_t rows = tile.row_end - tile.row_begin;
    for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
      // Key j is seen by the rows j - high <= i <= j - low.
      const std::int64_t first = band.open_high ? 0 : key - band.high - tile.row_begin;
      const std::int64_t end = band.open_low ? rows : key - band.low + 1 - tile.row_begin;
      by_key[key - tile.key_begin] = bit_range(std::clamp<std::int64_t>(first, 0, rows),
                                               std::clamp<std::int64_t>(end, 0, rows));
    }
  }

  void check(const MaskTarget&) const override {}

  std::string describe() const override {
    return fmt::format("band(left={}, right={})", sides_.left, sides_.right);
  }

 private:
  Diagonals diagonals(const MaskPlace& place) const {
    const std::int64_t shift = place.q_offset - place.key_offset;
    return {sides_.left == kOpen, sides_.right == kOpen, shift - sides_.left, shift + sides_.right};
  }

  Band sides_;
};

// The limits of a band are far below the limit of positions, so their sums cannot overflow.
constexpr std::int64_t kWidest = std::int64_t{1} << 60;

void check_side(const char* name, std::int64_t side) {
  if (side < kOpen || side > kWidest) fail("band", name, side, "0 to 2^60 keys, or -1 for open");
}

}  // namespace

Mask Mask::band(const Band& sides) {
  check_side("left", sides.left);
  check_side("right", sides.right);
  if (sides.left == kOpen && sides.right == kOpen) return {};
  return Mask(std::make_shared<BandRule>(sides));
}

Mask Mask::causal() { return band({.left = -1, .right = 0}); }

}  // namespace heed
