// Rows or elements in blocks of a fixed size over the threads: the blocks, and so every sum over
// blocks, do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heed/threads.h"

namespace heed {

inline constexpr std::int64_t kRowsOfTask = 64;

/// `work(begin, end)` for each block of [0, count), one task each.
template <typename Work>
void in_blocks(std::int64_t count, std::int64_t block, const Work& work) {
  parallel_for((count + block - 1) / block, [&](std::int64_t index, int /*thread*/) {
    work(index * block, std::min(count, (index + 1) * block));
  });
}

/// `use(row)` for each row of [0, count), 64 rows per task.
template <typename Use>
void for_rows(std::int64_t count, const Use& use) {
  in_blocks(count, kRowsOfTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) use(row);
  });
}

}  // namespace heed
