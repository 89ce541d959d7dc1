// Rows of a table by id. Copies and sums of whole rows, which the compiler vectorises well enough:
// both are bound by memory.
#include <algorithm>

#include "base/blocks.h"
#include "ops/kernels/rows.h"

namespace heed::kernels::cpu {

void embedding(const float* table, std::int64_t width, const std::int32_t* ids, std::int64_t count,
               float* out) {
  constexpr std::int64_t kRows = 256;
  in_blocks(count, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::copy_n(table + ids[i] * width, width, out + i * width);
  });
}

// A task owns a panel of columns and goes through all ids: tasks never write the same element, and
// repeated ids are added in order.
void embedding_backward(const std::int32_t* ids, std::int64_t count, const float* dy,
                        std::int64_t width, float* dtable) {
  constexpr std::int64_t kColumns = 64;
  in_blocks(width, kColumns, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t columns = end - begin;
    for (std::int64_t i = 0; i < count; ++i) {
      float* to = dtable + ids[i] * width + begin;
      const float* from = dy + i * width + begin;
      for (std::int64_t c = 0; c < columns; ++c) to[c] += from[c];
    }
  });
}

}  // namespace heed::kernels::cpu
