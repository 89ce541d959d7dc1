// How kernels divide rows and columns among threads, and sums to which every row adds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/blocks.h"

namespace heed::kernels::cpu {

/// Rows per task: 8,192 elements, about 10 us of an elementwise function.
inline std::int64_t rows_of_block(std::int64_t width) {
  return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, width));
}

/// A sum to which every row adds: `work(begin, end, own)` adds rows to their block's `floats`
/// floats, initially zero; `merge(own)` gets the blocks in order.
template <typename Work, typename Merge>
void sum_in_blocks(std::int64_t rows, std::int64_t floats, const Work& work, const Merge& merge) {
  const std::int64_t blocks = (rows + kRowsOfTask - 1) / kRowsOfTask;
  std::vector<float> sums(static_cast<std::size_t>(blocks * floats));
  in_blocks(rows, kRowsOfTask, [&](std::int64_t begin, std::int64_t end) {
    work(begin, end, sums.data() + begin / kRowsOfTask * floats);
  });
  for (std::int64_t block = 0; block < blocks; ++block) merge(sums.data() + block * floats);
}

/// The number of parts of rows and columns.
struct Cut {
  std::int64_t rows, columns;
};

/// One task per thread that this loop may use, or two if that is easy, so that a delayed thread
/// does not hold up the rest; on one thread, blocks of at most `block_rows`. Each task packs its
/// rows and, for a plain b, its columns.
Cut cut_of(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t block_rows);

constexpr std::int64_t parts_of(std::int64_t extent, std::int64_t most) {
  return (extent + most - 1) / most;
}

/// Where part `index` of `parts` begins, in whole units, as evenly as possible.
constexpr std::int64_t part_begin(std::int64_t extent, std::int64_t unit, std::int64_t parts,
                                  std::int64_t index) {
  const std::int64_t begin = parts_of(extent, unit) * index / parts * unit;
  return begin < extent ? begin : extent;
}

}  // namespace heed::kernels::cpu
