// Operators that work element by element: sums, products, bounds, activations, dropout.
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed {

/// y += x, element by element. f32 or f64, the same shape, row-major.
void add_to(const View& y, const ConstView& x);

/// `y + x` in the memory of y: advances a residual stream.
Tensor add(Tensor y, const ConstView& x);

/// `y + number` in the memory of y; f32 or f64, row-major.
Tensor add_number(Tensor y, double number);

/// `y[..., c] + row[c]` in the memory of y.
Tensor add_row(Tensor y, const ConstView& row);

/// sums[c] += the sum of column c over all rows of x [..., C]; rows are added in a fixed order for
/// any number of threads.
void add_column_sums(const View& sums, const ConstView& x);

/// y *= x. f32 or f64, the same shape, row-major.
void multiply_by(const View& y, const ConstView& x);

/// `y * factor` in the memory of y; f32 or f64, row-major.
Tensor scaled(Tensor y, double factor);

/// cap * tanh(x / cap), in the memory of x. f32 or f64, row-major, cap above 0.
Tensor softcapped(Tensor x, double cap);

/// dx = dy (1 - (y / cap)^2) for y = softcapped(x, cap).
Tensor softcap_backward(const ConstView& y, double cap, const ConstView& dy);

/// Clamps to low .. high, in the memory of x. f32 or f64, row-major; NaN stays NaN.
Tensor clamped(Tensor x, double low, double high);

/// Zeros dy, in its memory, where x is outside low .. high.
Tensor clamp_backward(const ConstView& x, double low, double high, Tensor dy);

/// GELU (Hendrycks & Gimpel 2016): x Phi(x), exactly or with GPT-2's tanh,
/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). SiLU, which is also called swish
/// (Ramachandran et al. 2017): x / (1 + e^-x). ReLU: max(x, 0), with derivative 0 at 0. Squared
/// ReLU (So et al. 2021): max(x, 0)^2. Quick GELU: x / (1 + e^(-1.702 x)).
///
/// The rarer ones have no kernel and are computed in f64. Mish (Misra 2019): x tanh(ln(1 + e^x)).
/// Leaky ReLU (Maas et al. 2013): slope 0.01 below 0. ReLU6: min(max(x, 0), 6). Clipped GELU: in
/// -10 .. 10. Hard swish (Howard et al. 2019): x ReLU6(x + 3) / 6. Laplace (Ma et al. 2022):
/// Phi((x - sqrt(1 / 2)) / sqrt(1 / 4 pi)), with both constants rounded to six digits.
enum class Activation : std::uint8_t {
  kGelu,
  kGeluTanh,
  kSilu,
  kRelu,
  kQuickGelu,
  kSquaredRelu,
  kTanh,
  kSigmoid,
  kMish,
  kLeakyRelu,
  kRelu6,
  kClippedGelu,
  kHardSwish,
  kLaplace,
  kLinear
};

/// f64, f32, f16 or bf16 (the 16-bit types computed in f32 and rounded once), any shape and
/// strides; y is row-major.
Tensor activate(const ConstView& x, Activation kind);

/// dy *= f'(x), in place; dy row-major, of x's type (f32 for the 16-bit types). Also returns f(x),
/// which costs nothing extra: a layer that keeps x need not keep f(x).
Tensor activate_backward(const ConstView& x, Activation kind, const View& dy);

/// Element i (counted from `first`) is kept iff word i & 3 of Philox(counter = (i >> 2 low, i >> 2
/// high, site, 0), key = seed) is at least round(rate * 2^32); kept elements are scaled by 1 / (1 -
/// rate) (Srivastava et al. 2014).
struct ElementDropout {
  double rate = 0;  // in [0, 1)
  std::uint64_t seed = 0;
  std::uint32_t site = 0;  // index of the dropout in the model
  std::int64_t first = 0;  // index of x's first element in the whole, if x is a part
};

/// In place; the gradient is the same call on dx. f32 or f64, row-major.
void dropout(const View& x, const ElementDropout& args);

}  // namespace heed
