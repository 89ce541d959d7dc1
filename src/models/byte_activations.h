// Activations rounded to bytes, for models that run with quantised weights.
#pragma once

#include "heed/model.h"

namespace heed {

/// From here on, products of the model with weights of 2 to 6 bits round activations to 8 bits, 32
/// numbers with one scale, which is faster (ops/packed_matrix.h). Weights of other types are
/// multiplied as ever. kUnsupported if no weight gains by it; the model must be loaded `packed`.
void round_activations(const LoadedModel& loaded);

}  // namespace heed
