// How the codes of a quantised matrix lie in panels.
//
// A panel is a row of blocks for each of its columns, side by side: for every block first d of all
// columns, then d_least where the type has it, then its slabs. A slab is 32 numbers of each column:
// scales and minima by group, then the codes, as words of 32 bits, one of each column in a row. A
// word holds numbers k, k + 1, k + 2 and k + 3 in its four bytes, and as many such fours as fit:
//   4 bits  the lower half of a byte is a number of the first four, the upper half of the next
//   2 bits  four fours, from the lowest bits up
//   1 bit   eight fours, in the same way
//   8 bits  one four, 128 more than the i8
// A code of 5 bits is split into 4 and 1, one of 6 bits into 4 and 2, one of 3 bits into 2 and 1.
// So whatever the type, a vector of words becomes bytes by a shift and a mask, and those become
// floats. A panel takes what the blocks took, of Q2_K a fifth more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/block_type.h"

namespace heed::kernels::cpu {

constexpr std::int64_t kSlabDepth = 32;
constexpr std::int64_t kWordBytes = 4;

/// The offset of unsigned codes: a word or a table holds value + centre.
inline int centre_of(const BlockType& type) {
  if (type.values != nullptr) return -*std::min_element(type.values, type.values + 16);
  return type.code_bits == 8 ? 128 : type.centre;
}
/// Whether such a number may take all eight bits of its byte.
inline bool fills_bytes(const BlockType& type) {
  return type.code_bits == 8 || type.values != nullptr;
}

/// Rows of words with 4, 2 and 1 bits of each code.
constexpr bool has_nibbles(int code_bits) { return code_bits >= 4 && code_bits <= 6; }
constexpr bool has_pairs_of_bits(int code_bits) { return code_bits != 8 && code_bits % 4 >= 2; }
constexpr bool has_single_bits(int code_bits) { return code_bits % 2 == 1; }

/// Bytes of the parts of a panel.
struct BlockLayout {
  BlockLayout(const BlockType& type, std::int64_t columns)
      : factors(columns * 2 * (type.has_least ? 2 : 1)),
        scales(type.has_scales ? columns * kSlabDepth / type.group : 0),
        least(type.has_least_scales ? columns * kSlabDepth / type.group : 0),
        slab(scales + least + type.code_bits * columns * kWordBytes),
        slabs(type.elements / kSlabDepth),
        block(factors + slabs * slab),
        centre(centre_of(type)) {}

  std::int64_t factors;        // of a block
  std::int64_t scales, least;  // of a slab
  std::int64_t slab;
  std::int64_t slabs;  // of a block
  std::int64_t block;
  int centre;  // centre_of the type

  std::int64_t panel_bytes(std::int64_t inner) const {
    return inner / (slabs * kSlabDepth) * block;
  }
};

}  // namespace heed::kernels::cpu
