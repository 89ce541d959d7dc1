// Dropout, one element at a time.
#pragma once

#include "ops/kernels/dropout.h"

namespace heed::kernels::reference {

template <typename T>
void dropout(const DropoutProblem<T>& p) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    const std::int64_t place = p.first + i;
    const auto index = static_cast<std::uint64_t>(place) >> 2;
    const PhiloxCounter counter = {static_cast<std::uint32_t>(index),
                                   static_cast<std::uint32_t>(index >> 32), p.site, 0};
    const std::uint32_t word = philox(counter, p.key)[static_cast<std::size_t>(place & 3)];
    p.x[i] = word < p.threshold ? T{0} : static_cast<T>(p.x[i] * static_cast<T>(p.scale));
  }
}

}  // namespace heed::kernels::reference
