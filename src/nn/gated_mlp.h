// An MLP whose hidden values are gated (Shazeer 2020, "GLU Variants Improve Transformer").
#pragma once

#include <vector>

#include "nn/dropout.h"
#include "nn/linear.h"
#include "ops/activation.h"

namespace heed {

/// y = down(f(gate x) * (up x)); SwiGLU with f = SiLU.
class GatedMlp {
 public:
  GatedMlp(Linear gate, Linear up, Activation activation, Linear down, TapName where = {},
           DropoutLayer dropout = {});

  Tensor forward(const Tensor& x, Run& run) const;  // [B, T, C]
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);

 private:
  Linear gate_;  // C -> F
  Linear up_;    // C -> F
  Activation activation_;
  Linear down_;  // F -> C
  TapName where_;
  DropoutLayer dropout_;
};

}  // namespace heed
