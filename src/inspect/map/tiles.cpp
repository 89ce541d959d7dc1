#include "inspect/map/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "heed/error.h"

namespace heed {
namespace {

constexpr int kPartBits = 6;  // 64 parts per octave: each is less than a step (10.5 per octave)
constexpr auto kLeastBits = std::bit_cast<std::uint32_t>(0x1p-24F);

// The code of a weight without a logarithm: from its exponent and the first bits of its mantissa,
// then from the one threshold that may be in that part.
struct Codes {
  std::array<std::uint8_t, 24 << kPartBits> at_least = {};  // for the smallest weight of a part
  std::array<float, 256> next = {};                         // from here on the code is one higher

  Codes() {
    for (int code = 2; code < 256; ++code)
      next[static_cast<std::size_t>(code)] =
          static_cast<float>(std::exp2(24 * ((code - 1.5) / 253 - 1)));
    std::uint8_t code = 2;
    for (std::size_t part = 0; part < at_least.size(); ++part) {
      const auto bits = static_cast<std::uint32_t>(part << (23 - kPartBits));
      while (std::bit_cast<float>(kLeastBits + bits) >= next[code]) ++code;
      at_least[part] = code;
    }
  }
  std::uint8_t of(float weight) const {
    if (!(weight >= 0x1p-24F)) return std::isnan(weight) ? 0 : 1;
    if (weight >= 1) return 255;
    const std::uint8_t code =
        at_least[(std::bit_cast<std::uint32_t>(weight) - kLeastBits) >> (23 - kPartBits)];
    return static_cast<std::uint8_t>(code + (weight >= next[code] ? 1 : 0));
  }
};

const Codes& codes() {
  static const Codes codes;
  return codes;
}

std::int64_t over(std::int64_t count, std::int64_t of) { return (count + of - 1) / of; }

}  // namespace

int zoom_levels(const MatrixSize& size) {
  int levels = 1;
  while ((kTile << (levels - 1)) < size.longer()) ++levels;
  return levels;
}

std::string TileRequest::name() const {
  const char of = value == ObservedValue::kScores  ? 's'
                  : quantity == Quantity::kCarried ? 'c'
                                                   : 'w';
  return fmt::format("{}-{}-{}-{}-{}-{}-{}-{}{}{}", session, stack_name(place.stack), place.layer,
                     place.head, z, y, x, of, pool == Pool::kMax ? 'x' : 'm', bytes ? 'b' : 'f');
}

CellsRequest tile_cells(const TileRequest& tile, const MatrixSize& size) {
  const int levels = zoom_levels(size);
  if (tile.z < 0 || tile.z >= levels)
    fail("tile", "z", tile.z, fmt::format("0 to {}, a zoom of this matrix", levels - 1),
         ErrorCode::kNotFound);
  const int shift = levels - 1 - tile.z;
  const std::int64_t extent = kTile << shift;
  const std::int64_t rows = (size.queries + extent - 1) / extent;
  const std::int64_t columns = (size.keys + extent - 1) / extent;
  if (tile.y < 0 || tile.x < 0 || tile.y >= rows || tile.x >= columns)
    fail("tile", "y/x", fmt::format("{}/{}", tile.y, tile.x),
         fmt::format("one of {} x {} tiles", rows, columns), ErrorCode::kNotFound);
  return {.head = tile.place.head,
          .row_begin = tile.y * extent,
          .row_end = std::min((tile.y + 1) * extent, size.queries),
          .key_begin = tile.x * extent,
          .key_end = std::min((tile.x + 1) * extent, size.keys),
          .shift = shift,
          .pool = tile.pool,
          .value = tile.value};
}

std::uint8_t weight_byte(float weight) { return codes().of(weight); }

std::string encode_cells(const Cells& cells, bool bytes) {
  static_assert(std::endian::native == std::endian::little, "tiles are little-endian");
  std::string encoded;
  if (!bytes) {
    encoded.assign(reinterpret_cast<const char*>(cells.values.data()),
                   cells.values.size() * sizeof(float));
    return encoded;
  }
  encoded.resize(cells.values.size());
  std::ranges::transform(cells.values, encoded.begin(), [&table = codes()](float weight) {
    return static_cast<char>(table.of(weight));
  });
  return encoded;
}

AtlasCut atlas_cut(const MatrixSize& size, std::int64_t most) {
  const std::int64_t unit = std::int64_t{1} << (zoom_levels(size) - 1);
  const std::int64_t block = over(over(size.longer(), most), unit) * unit;
  return {.block = block, .rows = over(size.queries, block), .columns = over(size.keys, block)};
}

std::string thumbnail(const std::string& codes, const MatrixSize& size, const AtlasCut& cut) {
  const std::int64_t unit = std::int64_t{1} << (zoom_levels(size) - 1);
  const std::int64_t fold = cut.block / unit;
  const std::int64_t width = over(size.keys, unit);
  std::string cells(static_cast<std::size_t>(cut.cells()), '\0');
  for (std::int64_t y = 0; y < over(size.queries, unit); ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      char& to = cells[static_cast<std::size_t>(y / fold * cut.columns + x / fold)];
      const char code = codes[static_cast<std::size_t>(y * width + x)];
      if (static_cast<unsigned char>(code) > static_cast<unsigned char>(to)) to = code;
    }
  }
  return cells;
}

std::string atlas_head(const AtlasCut& cut) {
  static_assert(std::endian::native == std::endian::little, "answers are little-endian");
  const std::array numbers = {static_cast<std::uint32_t>(cut.block),
                              static_cast<std::uint32_t>(cut.rows),
                              static_cast<std::uint32_t>(cut.columns)};
  static_assert(sizeof(numbers) == kAtlasHead);
  return {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)};
}

}  // namespace heed
