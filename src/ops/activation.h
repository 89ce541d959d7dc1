// Functions of one element.
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed {

/// GELU (Hendrycks & Gimpel 2016): x Phi(x), exactly or with the tanh that GPT-2 has,
/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). SiLU, which is also called swish
/// (Ramachandran et al. 2017): x / (1 + e^-x). ReLU: max(x, 0), with derivative 0 at 0. Squared
/// ReLU (So et al. 2021): max(x, 0)^2. Quick GELU: x / (1 + e^(-1.702 x)).
enum class Activation : std::uint8_t { kGelu, kGeluTanh, kSilu, kRelu, kQuickGelu, kSquaredRelu };

/// f64, f32, f16 or bf16 (the 16-bit types computed in f32 and rounded once), any shape and
/// strides; y is row-major.
Tensor activate(const ConstView& x, Activation kind);

/// dy *= f'(x), in place; dy row-major, of x's type (f32 for the 16-bit types). Returns f(x), as
/// `activate` does, for it falls out on the way: a layer that keeps x need not keep f(x).
Tensor activate_backward(const ConstView& x, Activation kind, const View& dy);

}  // namespace heed
