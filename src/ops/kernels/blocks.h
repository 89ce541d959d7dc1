// How kernels cut rows into blocks, and sums that every row adds to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/blocks.h"

namespace heed::kernels::cpu {

/// Rows of a task: 8,192 elements, about 10 us of a function of each.
inline std::int64_t rows_of_block(std::int64_t width) {
  return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, width));
}

/// A sum that every row adds to: `work(begin, end, own)` adds rows to `floats` floats of their
/// block, zero at first, and `merge(own)` gets those of one block after the other.
template <typename Work, typename Merge>
void sum_in_blocks(std::int64_t rows, std::int64_t floats, const Work& work, const Merge& merge) {
  const std::int64_t blocks = (rows + kRowsOfTask - 1) / kRowsOfTask;
  std::vector<float> sums(static_cast<std::size_t>(blocks * floats));
  in_blocks(rows, kRowsOfTask, [&](std::int64_t begin, std::int64_t end) {
    work(begin, end, sums.data() + begin / kRowsOfTask * floats);
  });
  for (std::int64_t block = 0; block < blocks; ++block) merge(sums.data() + block * floats);
}

}  // namespace heed::kernels::cpu
