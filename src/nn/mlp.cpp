#include "nn/mlp.h"

#include <utility>

#include "nn/shown.h"
#include "ops/add.h"
#include "ops/multiply.h"
#include "tensor/strided_copy.h"

namespace heed {
namespace {

// The first or the second half of the rows of x [..., 2 F].
Tensor half(const Tensor& x, int which) {
  const int last = x.shape().rank() - 1;
  const std::int64_t width = x.dim(-1) / 2;
  return Tensor::copy_of(x.view().slice(last, which * width, (which + 1) * width));
}

// Rows of `left` and `right` [..., F] beside each other.
Tensor beside(const Tensor& left, const Tensor& right) {
  Shape shape = left.shape();
  const int last = shape.rank() - 1;
  const std::int64_t width = shape[last];
  shape[last] = 2 * width;
  Tensor both = Tensor::empty(shape, left.dtype());
  copy_elements(left, both.view().slice(last, 0, width));
  copy_elements(right, both.view().slice(last, width, 2 * width));
  return both;
}

}  // namespace

Tensor Mlp::forward(const Tensor& x, Run& run) const {
  const auto& [gate, up, holds_gate, activation, down, dropout, where] = parts_;
  const Shown show{run, where.stack, where.layer};
  Tensor hidden = gate ? gate->forward(x, run) : Tensor();  // [B, T, F]
  Tensor other = up.forward(x, run);
  if (holds_gate) {
    hidden = half(other, 0);
    other = half(other, 1);
  }
  const bool is_gated = gate || holds_gate;
  if (!is_gated) std::swap(hidden, other);
  hidden = show(TapKind::kMlpHidden, std::move(hidden));
  Tensor active = activate(hidden, activation);
  if (is_gated) multiply_by(active, other);
  Tensor y = down.apply(show(TapKind::kMlpActive, std::move(active)), run);
  if (run.saved != nullptr) run.saved->put(std::move(hidden));
  if (run.saved != nullptr && is_gated) run.saved->put(std::move(other));
  return dropout.forward(std::move(y), run);
}

// f(hidden) is not kept: a quarter of what a layer of GPT-2 would keep, and made again on the way.
Tensor Mlp::plain_backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  Tensor dhidden = parts_.down.input_gradient(dy, run);
  const Tensor hidden = run.saved->take();
  const Tensor active = activate_backward(hidden, parts_.activation, dhidden);
  parts_.down.add_weight_gradients(active, dy, run, gradients);
  return parts_.up.backward(dhidden, run, gradients);
}

// With h = f(g) * u: du = dh * f(g), dg = dh * u * f'(g); f(g) and h are made again on the way.
Tensor Mlp::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  const Tensor dropped = parts_.dropout.backward(dy, run);
  if (!parts_.gate && !parts_.holds_gate) return plain_backward(dropped, run, gradients);
  Tensor dup = parts_.down.input_gradient(dropped, run);
  const Tensor up = run.saved->take();
  const Tensor gate = run.saved->take();
  Tensor dgate = dup.clone();
  multiply_by(dgate, up);
  Tensor active = activate_backward(gate, parts_.activation, dgate);
  multiply_by(dup, active);
  multiply_by(active, up);
  parts_.down.add_weight_gradients(active, dropped, run, gradients);
  if (parts_.holds_gate) return parts_.up.backward(beside(dgate, dup), run, gradients);
  Tensor dx = parts_.up.backward(dup, run, gradients);
  return add(std::move(dx), parts_.gate->backward(dgate, run, gradients));
}

void Mlp::collect(std::vector<Parameter*>& into) {
  if (parts_.gate) parts_.gate->collect(into);
  parts_.up.collect(into);
  parts_.down.collect(into);
}

}  // namespace heed
