// Rows or elements in blocks of a fixed size over the threads: what a block holds, and so every sum
// over blocks, does not depend on how many threads there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heed/base/threads.h"

namespace heed::kernels::cpu {

/// `work(begin, end)` for each block of [0, count), one task each.
template <typename Work>
void in_blocks(std::int64_t count, std::int64_t block, const Work& work) {
  parallel_for((count + block - 1) / block, [&](std::int64_t index, int /*thread*/) {
    work(index * block, std::min(count, (index + 1) * block));
  });
}

/// Rows of a task: 8,192 elements, about 10 us of a function of each.
inline std::int64_t rows_of_block(std::int64_t width) {
  return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, width));
}

/// A sum that every row adds to: `work(begin, end, own)` adds rows to `floats` floats of their
/// block, zero at first, and `merge(own)` gets those of one block after the other.
template <typename Work, typename Merge>
void sum_in_blocks(std::int64_t rows, std::int64_t floats, const Work& work, const Merge& merge) {
  constexpr std::int64_t kBlockRows = 64;
  const std::int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  std::vector<float> sums(static_cast<std::size_t>(blocks * floats));
  in_blocks(rows, kBlockRows, [&](std::int64_t begin, std::int64_t end) {
    work(begin, end, sums.data() + begin / kBlockRows * floats);
  });
  for (std::int64_t block = 0; block < blocks; ++block) merge(sums.data() + block * floats);
}

}  // namespace heed::kernels::cpu
