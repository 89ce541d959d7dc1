// All heads of a stack at once, each as a thumbnail with the largest weight of each block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect/map/tiles.h"

namespace heed {

/// Divides a matrix into thumbnail cells of `block` entries per side.
struct AtlasCut {
  std::int64_t block = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool operator==(const AtlasCut&) const = default;

  std::int64_t cells() const { return rows * columns; }
};

/// At most `most` cells per side. A block is a whole number of cells of the zoom level that shows
/// the matrix in one tile, so that a thumbnail can be made from that tile, here and in a saved
/// page.
AtlasCut atlas_cut(const MatrixSize& size, std::int64_t most);

/// The thumbnail in a tile's codes, computed from the tile of zoom 0: the larger of two codes is
/// the code of the larger weight.
std::string thumbnail(const std::string& codes, const MatrixSize& size, const AtlasCut& cut);

/// The header before an answer's thumbnails: block, rows, columns, as little-endian u32.
std::string atlas_head(const AtlasCut& cut);
inline constexpr std::int64_t kAtlasHead = 12;

}  // namespace heed
