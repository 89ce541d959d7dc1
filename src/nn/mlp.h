// Two linear layers with an activation between them.
#pragma once

#include <string>
#include <vector>

#include "nn/dropout.h"
#include "nn/linear.h"
#include "ops/activation.h"

namespace heed {

class Mlp {
 public:
  Mlp(Linear up, Activation activation, Linear down, DropoutLayer dropout, TapName where = {});

  Tensor forward(const Tensor& x, Run& run) const;  // [B, T, C]
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);

 private:
  Linear up_;  // C -> F
  Activation activation_;
  Linear down_;  // F -> C
  DropoutLayer dropout_;
  TapName where_;
};

}  // namespace heed
