// The arguments of the dropout kernels.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace heed::kernels {

template <typename T>
struct DropoutProblem {
  T* x = nullptr;
  std::int64_t count = 0;
  std::int64_t first = 0;  // the place of x[0] in the whole
  PhiloxKey key = {};
  std::uint32_t site = 0;
  std::uint32_t threshold = 0;  // a word below it drops the element
  double scale = 1;             // of kept elements
};

namespace cpu {
void dropout(const DropoutProblem<float>& problem);
}  // namespace cpu

}  // namespace heed::kernels
