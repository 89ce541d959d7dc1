// Tiles of the matrix at every zoom, as the page requests them, and thumbnails of all heads, with
// the largest weight of each block.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/map/cells.h"
#include "inspect/session/carried.h"

namespace heed {

inline constexpr std::int64_t kTile = 256;

/// Number of zoom levels: at the last one a cell is an entry, at 0 one tile covers everything.
int zoom_levels(const MatrixSize& size);

struct TileRequest {
  std::string session;
  Place place;
  int z = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;
  Pool pool = Pool::kMax;
  ObservedValue value = ObservedValue::kWeights;
  Quantity quantity = Quantity::kWeight;  // of the layer's numbers
  bool bytes = true;                      // as=u8

  /// Names the content, so that equal names mean equal bytes.
  std::string name() const;
};

/// The rows and keys of a tile; throws kNotFound if there is no such tile.
CellsRequest tile_cells(const TileRequest& tile, const MatrixSize& size);

/// 0 masked, 1 below 2^-24, else 2 + round(253 (1 + log2(p) / 24)).
std::uint8_t weight_byte(float weight);

/// u8 or little-endian f32.
std::string encode_cells(const Cells& cells, bool bytes);

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
