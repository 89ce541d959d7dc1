#include "heed/masks/mask.h"

namespace heed {

void MaskRule::bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const {
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
    std::uint64_t word = 0;
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row)
      word |= static_cast<std::uint64_t>(visible(place, row, key)) << (row - tile.row_begin);
    by_key[key - tile.key_begin] = word;
  }
}

}  // namespace heed
