// Values held inside of a range: how some models keep their logits small.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// cap * tanh(x / cap), in the memory of x. f32 or f64, row-major, cap above 0.
Tensor softcapped(Tensor x, double cap);

/// dx = dy (1 - (y / cap)^2) for y = softcapped(x, cap).
Tensor softcap_backward(const ConstView& y, double cap, const ConstView& dy);

}  // namespace heed
