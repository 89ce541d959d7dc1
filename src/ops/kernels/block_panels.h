// The layout of a quantised matrix's codes in panels.
//
// A panel holds a row of blocks for each of its columns, side by side: for every block first d of
// all columns, then d_least if the type has it, then its slabs. A slab is 32 numbers of each
// column: scales and minima by group, then the codes, as 32-bit words, one per column in each row.
// A word holds numbers k, k + 1, k + 2 and k + 3 in its four bytes, and as many such fours as fit:
//   4 bits  the lower half of a byte is a number of the first four, the upper half of the next
//   2 bits  four fours, from the lowest bits up
//   1 bit   eight fours, in the same way
//   8 bits  one four, 128 more than the i8
// A code of 5 bits is split into 4 and 1, one of 6 bits into 4 and 2, one of 3 bits into 2 and 1.
// Rows of words lie in the order in which a product reads them, so that the CPU prefetches them:
// single bits, then for each half of the slab its pairs of bits and its nibbles.
// So for every type, a shift and a mask turn a vector of words into bytes, which are converted to
// floats. A panel is as large as its blocks, for Q2_K a fifth larger.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/block_type.h"

namespace heed::kernels::cpu {

constexpr std::int64_t kSlabDepth = 32;
constexpr std::int64_t kWordBytes = 4;

/// The offset of unsigned codes: words and tables hold value + centre.
inline int centre_of(const BlockType& type) {
  if (type.values != nullptr) return -*std::min_element(type.values, type.values + 16);
  return type.code_bits == 8 ? 128 : type.centre;
}
/// Whether such a number may use all eight bits of its byte.
inline bool fills_bytes(const BlockType& type) {
  return type.code_bits == 8 || type.values != nullptr;
}

/// Which parts of a code of fewer than 8 bits have words of their own: 4, 2 and 1 bits.
constexpr bool has_nibbles(int code_bits) { return code_bits >= 4 && code_bits <= 6; }
constexpr bool has_pairs_of_bits(int code_bits) { return code_bits % 4 >= 2; }
constexpr bool has_single_bits(int code_bits) { return code_bits % 2 == 1; }

/// The rows of words in a slab that hold the four codes numbered `four`. Single bits have row 0.
struct WordRows {
  int nibbles, pairs;
};
constexpr WordRows word_rows(int code_bits, int four) {
  const int pair_rows = has_pairs_of_bits(code_bits) ? 1 : 0;  // of half a slab
  const int half = (has_nibbles(code_bits) ? 2 : 0) + pair_rows;
  const int first = (has_single_bits(code_bits) ? 1 : 0) + four / 4 * half;
  return {.nibbles = first + pair_rows + four / 2 % 2, .pairs = first};
}

/// Sizes of a panel's parts in bytes.
struct BlockLayout {
  BlockLayout(const BlockType& type, std::int64_t columns)
      : factors(columns * 2 * (type.has_least ? 2 : 1)),
        scales(type.has_scales ? columns * kSlabDepth / type.group : 0),
        least(type.has_least_scales ? columns * kSlabDepth / type.group : 0),
        slab(scales + least + type.code_bits * columns * kWordBytes),
        slabs(type.elements / kSlabDepth),
        block(factors + slabs * slab),
        centre(centre_of(type)) {}

  std::int64_t factors;        // per block
  std::int64_t scales, least;  // per slab
  std::int64_t slab;
  std::int64_t slabs;  // per block
  std::int64_t block;
  int centre;  // centre_of the type

  std::int64_t panel_bytes(std::int64_t inner) const {
    return inner / (slabs * kSlabDepth) * block;
  }
};

}  // namespace heed::kernels::cpu
