#include "inspect/map/atlas.h"

#include <algorithm>
#include <array>
#include <bit>

namespace heed {
namespace {

std::int64_t over(std::int64_t count, std::int64_t of) { return (count + of - 1) / of; }

}  // namespace

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
