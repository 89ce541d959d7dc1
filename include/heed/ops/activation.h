// Functions of one element.
#pragma once

#include <cstdint>

#include "heed/tensor/tensor.h"

namespace heed {

/// GELU (Hendrycks & Gimpel 2016): x Phi(x), exactly or with the tanh that GPT-2 has,
/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
enum class Activation : std::uint8_t { kGelu, kGeluTanh };

/// f32 or f64, row-major, any shape.
Tensor activate(const ConstView& x, Activation kind);

/// dy *= f'(x), in place.
void activate_backward(const ConstView& x, Activation kind, const View& dy);

}  // namespace heed
