// In which type a model folder holds its weights.
#pragma once

#include "heed/dtype.h"
#include "heed/io/safetensors.h"

namespace heed {

/// f32, f16 or bf16: that of the most numbers.
DType stored_type(const Weights& weights);

}  // namespace heed
