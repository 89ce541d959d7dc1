#include "models/stored_type.h"

#include <cstdint>
#include <string>

namespace heed {

DType stored_type(const Weights& weights) {
  std::int64_t f16 = 0;
  std::int64_t bf16 = 0;
  std::int64_t wider = 0;
  for (const std::string& name : weights.names()) {
    const ConstView tensor = weights.tensor(name);
    const DType dtype = tensor.dtype();
    (dtype == DType::kF16 ? f16 : dtype == DType::kBF16 ? bf16 : wider) += tensor.element_count();
  }
  if (f16 > bf16 && f16 > wider) return DType::kF16;
  return bf16 > wider ? DType::kBF16 : DType::kF32;
}

}  // namespace heed
