// Values held inside of a range: how some models keep logits, queries or gates small.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// cap * tanh(x / cap), in the memory of x. f32 or f64, row-major, cap above 0.
Tensor softcapped(Tensor x, double cap);

/// dx = dy (1 - (y / cap)^2) for y = softcapped(x, cap).
Tensor softcap_backward(const ConstView& y, double cap, const ConstView& dy);

/// The nearest number in low .. high, in the memory of x. f32 or f64, row-major; NaN stays.
Tensor clamped(Tensor x, double low, double high);

/// 0 in the memory of dy where x is outside of low .. high.
Tensor clamp_backward(const ConstView& x, double low, double high, Tensor dy);

}  // namespace heed
