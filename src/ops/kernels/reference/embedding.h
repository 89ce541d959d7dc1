// Rows of a table, one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heed::kernels::reference {

template <typename T>
void embedding(const T* table, std::int64_t width, const std::int32_t* ids, std::int64_t count,
               T* out) {
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(table + ids[i] * width, width, out + i * width);
}

template <typename T>
void embedding_backward(const std::int32_t* ids, std::int64_t count, const T* dy,
                        std::int64_t width, T* dtable) {
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < width; ++c) dtable[ids[i] * width + c] += dy[i * width + c];
}

}  // namespace heed::kernels::reference
