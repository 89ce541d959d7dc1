#include "heed/nn/mlp.h"

#include <utility>

namespace heed {

Mlp::Mlp(Linear up, Activation activation, Linear down, DropoutLayer dropout)
    : up_(std::move(up)), activation_(activation), down_(std::move(down)), dropout_(dropout) {}

Tensor Mlp::forward(const Tensor& x, Run& run) const {
  Tensor hidden = up_.forward(x, run);  // [B, T, F]
  const Tensor active = activate(hidden, activation_);
  if (run.saved != nullptr) run.saved->put(std::move(hidden));
  return dropout_.forward(down_.forward(active, run), run);
}

Tensor Mlp::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  Tensor dhidden = down_.backward(dropout_.backward(dy, run), run, gradients);
  const Tensor hidden = run.saved->take();
  activate_backward(hidden, activation_, dhidden);
  return up_.backward(dhidden, run, gradients);
}

void Mlp::collect(std::vector<Parameter*>& into) {
  up_.collect(into);
  down_.collect(into);
}

}  // namespace heed
