// The numbers of cases and benchmarks: normal, and the same in every run.
#pragma once

#include <cstdint>

#include "base/philox.h"
#include "heed/tensor.h"

namespace heed {

/// Mean 0, standard deviation `spread`; another `stream` gives others.
inline Tensor normal(const Shape& shape, DType dtype, double spread, std::uint32_t stream) {
  Random random(2024, stream);
  Tensor tensor = Tensor::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<double>()[i] = spread * random.normal();
  return Tensor::converted(tensor, dtype);
}

}  // namespace heed
