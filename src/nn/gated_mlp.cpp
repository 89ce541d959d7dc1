#include "nn/gated_mlp.h"

#include <utility>

#include "nn/shown.h"
#include "ops/add.h"
#include "ops/multiply.h"

namespace heed {

GatedMlp::GatedMlp(Linear gate, Linear up, Activation activation, Linear down, TapName where,
                   DropoutLayer dropout)
    : gate_(std::move(gate)),
      up_(std::move(up)),
      activation_(activation),
      down_(std::move(down)),
      where_(where),
      dropout_(dropout) {}

Tensor GatedMlp::forward(const Tensor& x, Run& run) const {
  const Shown show{run, where_.stack, where_.layer};
  Tensor gate = show(TapKind::kMlpHidden, gate_.forward(x, run));  // [B, T, F]
  Tensor up = up_.forward(x, run);
  Tensor active = activate(gate, activation_);
  multiply_by(active, up);
  Tensor y = down_.apply(show(TapKind::kMlpActive, std::move(active)), run);
  if (run.saved != nullptr) {
    run.saved->put(std::move(gate));
    run.saved->put(std::move(up));
  }
  return dropout_.forward(std::move(y), run);
}

// With h = f(g) * u: du = dh * f(g), dg = dh * u * f'(g); f(g) and h are made again on the way.
Tensor GatedMlp::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  const Tensor dropped = dropout_.backward(dy, run);
  Tensor dup = down_.input_gradient(dropped, run);
  const Tensor up = run.saved->take();
  const Tensor gate = run.saved->take();
  Tensor dgate = dup.clone();
  multiply_by(dgate, up);
  Tensor active = activate_backward(gate, activation_, dgate);
  multiply_by(dup, active);
  multiply_by(active, up);
  down_.add_weight_gradients(active, dropped, run, gradients);
  Tensor dx = up_.backward(dup, run, gradients);
  return add(std::move(dx), gate_.backward(dgate, run, gradients));
}

void GatedMlp::collect(std::vector<Parameter*>& into) {
  gate_.collect(into);
  up_.collect(into);
  down_.collect(into);
}

}  // namespace heed
