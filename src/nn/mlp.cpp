#include "nn/mlp.h"

#include <limits>
#include <utility>

#include "nn/residual.h"
#include "tensor/views.h"

namespace heed {
namespace {

// Rows [..., 2 F] hold two parts of F: as [..., 2, F], or as [..., F, 2] if they alternate.
View both_parts(const View& x, int which, bool alternates) {
  const std::int64_t width = x.dim(-1) / 2, rows = x.shape().element_count() / (2 * width);
  const Shape split = alternates ? Shape{rows, width, 2} : Shape{rows, 2, width};
  return View(x.raw(), x.dtype(), split).select(alternates ? 2 : 1, which);  // [rows, F]
}

Shape of_width(Shape shape, std::int64_t width) {
  shape[shape.rank() - 1] = width;
  return shape;
}

Tensor part_of(Tensor& x, int which, bool alternates) {
  const Shape shape = of_width(x.shape(), x.dim(-1) / 2);
  return Tensor::copy_of(both_parts(x, which, alternates)).reshaped(shape);
}

// Joins two parts [..., F] to rows [..., 2 F].
Tensor concatenated(const Tensor& first, const Tensor& second, bool alternates) {
  const std::int64_t width = first.dim(-1), rows = first.element_count() / width;
  Tensor both = Tensor::empty(of_width(first.shape(), 2 * width), first.dtype());
  copy_elements(first.view().reshape({rows, width}), both_parts(both, 0, alternates));
  copy_elements(second.view().reshape({rows, width}), both_parts(both, 1, alternates));
  return both;
}

constexpr double kNoLeast = -std::numeric_limits<double>::infinity();

}  // namespace

Tensor Mlp::gate_input(const Tensor& gate) const {
  return parts_.limit == 0 ? gate.share() : clamped(gate.clone(), kNoLeast, parts_.limit);
}

Tensor Mlp::gated(const Tensor& up) const {
  if (parts_.limit == 0) return up.share();
  return add_number(clamped(up.clone(), -parts_.limit, parts_.limit), 1);
}

Tensor Mlp::forward(const Tensor& x, Run& run) const {
  const auto& [gate, up, holds_gate, alternates, limit, activation, down, dropout, where] = parts_;
  const Shown show{run, where.stack, where.layer};
  std::vector<const Linear*> projections = {&up};
  if (gate) projections.insert(projections.begin(), &*gate);
  std::vector<Tensor> projected = Linear::forward_each(projections, x, run);  // [B, T, F]
  Tensor hidden = gate ? std::move(projected[0]) : Tensor();
  Tensor other = std::move(projected.back());
  if (holds_gate) {
    hidden = part_of(other, 0, alternates);
    other = part_of(other, 1, alternates);
  }
  const bool is_gated = gate || holds_gate;
  if (!is_gated) std::swap(hidden, other);
  hidden = show(TapKind::kMlpHidden, std::move(hidden));
  Tensor active = activate(gate_input(hidden), activation);
  if (is_gated) multiply_by(active, gated(other));
  Tensor y = down.apply(show(TapKind::kMlpActive, std::move(active)), run);
  if (run.saved != nullptr) run.saved->put(std::move(hidden));
  if (run.saved != nullptr && is_gated) run.saved->put(std::move(other));
  return dropout.forward(std::move(y), run);
}

// f(hidden) is not kept but recomputed: it would be a quarter of what a layer of GPT-2 keeps.
Tensor Mlp::plain_backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  Tensor dhidden = parts_.down.input_gradient(dy, run);
  const Tensor hidden = run.saved->take();
  const Tensor active = activate_backward(hidden, parts_.activation, dhidden);
  parts_.down.add_weight_gradients(active, dy, run, gradients);
  return parts_.up.backward(dhidden, run, gradients);
}

// With h = f(g) * u: du = dh * f(g), dg = dh * u * f'(g); f(g) and h are recomputed.
Tensor Mlp::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  const Tensor dropped = parts_.dropout.backward(dy, run);
  if (!parts_.gate && !parts_.holds_gate) return plain_backward(dropped, run, gradients);
  Tensor dup = parts_.down.input_gradient(dropped, run);
  const Tensor up = run.saved->take();
  const Tensor gate = run.saved->take();
  const Tensor factor = gated(up);
  Tensor dgate = dup.clone();
  multiply_by(dgate, factor);
  Tensor active = activate_backward(gate_input(gate), parts_.activation, dgate);
  multiply_by(dup, active);
  if (parts_.limit > 0) {
    dgate = clamp_backward(gate, kNoLeast, parts_.limit, std::move(dgate));
    dup = clamp_backward(up, -parts_.limit, parts_.limit, std::move(dup));
  }
  multiply_by(active, factor);
  parts_.down.add_weight_gradients(active, dropped, run, gradients);
  if (parts_.holds_gate)
    return parts_.up.backward(concatenated(dgate, dup, parts_.alternates), run, gradients);
  Tensor dx = parts_.up.backward(dup, run, gradients);
  return add(std::move(dx), parts_.gate->backward(dgate, run, gradients));
}

void Mlp::collect(std::vector<Parameter*>& into) {
  if (parts_.gate) parts_.gate->collect(into);
  parts_.up.collect(into);
  parts_.down.collect(into);
}

}  // namespace heed
