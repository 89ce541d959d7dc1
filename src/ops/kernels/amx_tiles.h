// Blocks of f32 products in AMX's tiles, from panels of bf16 parts:
// f32 as sums of three bf16, for AMX, whose tiles multiply only bf16.
//
// f32 has 24 bits, bf16 has 8 and the same exponents: x = high + middle + low, exactly. Of the nine
// products of two such sums, the three smallest, below 2^-23 of the whole, are omitted; each of the
// other six is exact in f32, in which the tiles accumulate. (Henry, Tang, Heinecke 2019,
// "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations",
// section II.)
//
// amx_panel.cpp and amx_tiles.cpp are compiled for AVX-512 and AMX. They include no inline
// functions of other headers: the linker could use those copies in code that runs on any CPU.
#pragma once

#include <cstdint>

namespace heed::kernels::amx {

using Part = std::uint16_t;  // the bits of a bf16

constexpr std::int64_t kLines = 32;        // per panel, in two tiles of 16
constexpr std::int64_t kHalf = 16;         // lines per tile
constexpr std::int64_t kDepth = 32;        // per step
constexpr std::int64_t kTile = 16 * 32;    // elements of a tile: 16 rows of 64 bytes
constexpr std::int64_t kPart = 2 * kTile;  // of a panel's step
constexpr std::int64_t kStep = 3 * kPart;  // high, middle, low

/// Rows of A, or columns of B, along K. One of the strides is 1.
struct Lines {
  const float* data = nullptr;
  std::int64_t line = 0;    // stride from one line to the next
  std::int64_t depth = 0;   // stride along K
  std::int64_t count = 0;   // 1 to kLines
  std::int64_t length = 0;  // K
};

/// The content of a tile's row: 32 numbers of a line (A), or a pair along K of 16 lines (B).
enum class TileRows : std::uint8_t { kLine, kPair };

constexpr std::int64_t steps_of(std::int64_t length) { return (length + kDepth - 1) / kDepth; }
constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// The first `count` of a vector's 16 lanes: none if negative, all above 16.
constexpr std::uint16_t first_lanes(std::int64_t count) {
  return static_cast<std::uint16_t>(count <= 0 ? 0U : (1U << least(count, 16)) - 1);
}

/// Cuts lines into a panel, to[steps_of(length)][part][half][kTile], padded with zeros. False if a
/// number is not finite, or if the numbers are so large (2^59) that a sum of 512 products could
/// overflow; the panel is then unusable.
bool cut_panel(const Lines& from, TileRows rows, Part* to);

/// 32 x 32 elements of a product.
struct Block {
  const Part* a = nullptr;  // a panel of rows
  const Part* b = nullptr;  // a panel of columns
  std::int64_t steps = 0;
  float* out = nullptr;
  std::int64_t out_row = 0;
  std::int64_t rows = 0;     // existing rows: 1 to 32
  std::int64_t columns = 0;  // 1 to 32
  const float* bias = nullptr;
  bool accumulate = false;
  bool high_parts_alone = false;  // both operands rounded to bf16: one product of six
};

/// Needs this thread's tiles to be set up.
void multiply(const Block& block);

/// This thread's tile registers, set up while it lives.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

}  // namespace heed::kernels::amx
