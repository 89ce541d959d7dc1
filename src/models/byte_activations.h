// Activations rounded to bytes, for models that run with quantised weights.
#pragma once

#include "heed/model.h"

namespace heed {

/// From here on, products of the model with weights in blocks round activations to 8 bits, 32
/// numbers with one scale, which is faster (ops/packed_matrix.h). Other weights are multiplied as
/// ever. kUnsupported if no weight is in blocks; the model must be loaded `packed`.
void round_activations(const LoadedModel& loaded);

}  // namespace heed
