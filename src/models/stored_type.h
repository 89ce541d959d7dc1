// In which type a model folder holds its weights.
#pragma once

#include <filesystem>

#include "heed/tensor/dtype.h"

namespace heed {

/// f32, f16 or bf16: that of the most numbers.
DType stored_type(const std::filesystem::path& folder);

}  // namespace heed
