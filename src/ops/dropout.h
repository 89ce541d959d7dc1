// Random zeros, from counters instead of a stored mask.
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed {

/// Element i (counted from `first`) is kept iff word i & 3 of Philox(counter = (i >> 2 low, i >> 2
/// high, site, 0), key = seed) is at least round(rate * 2^32); kept elements are scaled by 1 / (1 -
/// rate) (Srivastava et al. 2014).
struct ElementDropout {
  double rate = 0;  // in [0, 1)
  std::uint64_t seed = 0;
  std::uint32_t site = 0;  // which dropout of the model
  std::int64_t first = 0;  // index of x's first element in the whole, where x is a part
};

/// In place; the gradient is the same call on dx. f32 or f64, row-major.
void dropout(const View& x, const ElementDropout& args);

}  // namespace heed
