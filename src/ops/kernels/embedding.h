// The arguments of the embedding kernels; ids are already checked.
#pragma once

#include <cstdint>

namespace heed::kernels::cpu {

void embedding(const float* table, std::int64_t width, const std::int32_t* ids, std::int64_t count,
               float* out);
/// dtable[ids[i]] += dy[i], i in order for every element.
void embedding_backward(const std::int32_t* ids, std::int64_t count, const float* dy,
                        std::int64_t width, float* dtable);

}  // namespace heed::kernels::cpu
