// Tiles of the matrix at every zoom, as the page requests them.
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

}  // namespace heed
