#include "inspect/server/tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "inspect/server/api_error.h"

namespace heed::server {

int zoom_levels(std::int64_t length) {
  int levels = 1;
  while ((kTile << (levels - 1)) < length) ++levels;
  return levels;
}

std::string TileRequest::name() const {
  return fmt::format("{}-{}-{}-{}-{}-{}-{}{}{}", session, layer, head, z, y, x,
                     value == ObservedValue::kScores ? 's' : 'w', pool == Pool::kMax ? 'x' : 'm',
                     bytes ? 'b' : 'f');
}

CellsRequest tile_cells(const TileRequest& tile, std::int64_t length) {
  const int levels = zoom_levels(length);
  if (tile.z < 0 || tile.z >= levels)
    refuse(404, "not_found", "tile: zoom {} does not exist, this text has 0 to {}", tile.z,
           levels - 1);
  const int shift = levels - 1 - tile.z;
  const std::int64_t extent = kTile << shift;
  const std::int64_t tiles = (length + extent - 1) / extent;
  if (tile.y < 0 || tile.x < 0 || tile.y >= tiles || tile.x >= tiles)
    refuse(404, "not_found", "tile: {}/{} does not exist at zoom {}, which has {} x {} tiles",
           tile.y, tile.x, tile.z, tiles, tiles);
  return {.head = tile.head,
          .row_begin = tile.y * extent,
          .row_end = std::min((tile.y + 1) * extent, length),
          .key_begin = tile.x * extent,
          .key_end = std::min((tile.x + 1) * extent, length),
          .shift = shift,
          .pool = tile.pool,
          .value = tile.value};
}

std::uint8_t weight_byte(float weight) {
  if (std::isnan(weight)) return 0;
  if (weight < 0x1p-24F) return 1;
  const double step = 253 * (1 + std::log2(static_cast<double>(weight)) / 24);
  return static_cast<std::uint8_t>(2 + std::lround(std::clamp(step, 0.0, 253.0)));
}

std::string encode_cells(const Cells& cells, bool bytes) {
  static_assert(std::endian::native == std::endian::little, "tiles are little-endian");
  std::string encoded;
  if (!bytes) {
    encoded.assign(reinterpret_cast<const char*>(cells.values.data()),
                   cells.values.size() * sizeof(float));
    return encoded;
  }
  encoded.reserve(cells.values.size());
  for (const float weight : cells.values) encoded += static_cast<char>(weight_byte(weight));
  return encoded;
}

std::shared_ptr<const std::string> TileCache::find(const std::string& name) {
  const std::scoped_lock lock(guard_);
  const auto place = places_.find(name);
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->tile;
}

void TileCache::keep(const std::string& name, std::shared_ptr<const std::string> tile) {
  const std::scoped_lock lock(guard_);
  if (places_.contains(name) || std::ssize(*tile) > limit_) return;
  bytes_ += std::ssize(*tile);
  entries_.push_front({name, std::move(tile)});
  places_[name] = entries_.begin();
  while (bytes_ > limit_) {
    bytes_ -= std::ssize(*entries_.back().tile);
    places_.erase(entries_.back().name);
    entries_.pop_back();
  }
}

}  // namespace heed::server
