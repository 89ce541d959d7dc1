#include "nn/mlp.h"

#include <utility>

#include "nn/shown.h"

namespace heed {

Mlp::Mlp(Linear up, Activation activation, Linear down, DropoutLayer dropout, TapName where)
    : up_(std::move(up)),
      activation_(activation),
      down_(std::move(down)),
      dropout_(dropout),
      where_(where) {}

Tensor Mlp::forward(const Tensor& x, Run& run) const {
  const Shown show{run, where_.stack, where_.layer};
  Tensor hidden = show(TapKind::kMlpHidden, up_.forward(x, run));  // [B, T, F]
  Tensor y = down_.apply(show(TapKind::kMlpActive, activate(hidden, activation_)), run);
  if (run.saved != nullptr) run.saved->put(std::move(hidden));
  return dropout_.forward(std::move(y), run);
}

// f(hidden) is not kept: a quarter of what a layer of GPT-2 would keep, and made again on the way.
Tensor Mlp::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  const Tensor dropped = dropout_.backward(dy, run);
  Tensor dhidden = down_.input_gradient(dropped, run);
  const Tensor hidden = run.saved->take();
  const Tensor active = activate_backward(hidden, activation_, dhidden);
  down_.add_weight_gradients(active, dropped, run, gradients);
  return up_.backward(dhidden, run, gradients);
}

void Mlp::collect(std::vector<Parameter*>& into) {
  up_.collect(into);
  down_.collect(into);
}

}  // namespace heed
