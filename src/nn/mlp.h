// Two linear layers with an activation between them, or a gate (Shazeer 2020, "GLU Variants Improve
// Transformer").
#pragma once

#include <optional>
#include <vector>

#include "nn/dropout.h"
#include "nn/linear.h"
#include "ops/elementwise.h"

namespace heed {

/// y = down(f(up x)), or with a gate y = down(f(gate x) * (up x)): SwiGLU with f = SiLU.
struct MlpParts {
  std::optional<Linear> gate = {};  // C -> F
  Linear up;                        // C -> F
  bool holds_gate = false;          // `up` outputs 2 F: the gate's part, then its own
  bool alternates = false;          // then both parts alternate
  // Not 0: y = down(f(min(gate x, limit)) * (1 + clamp(up x, -limit, limit))).
  double limit = 0;
  Activation activation = Activation::kGelu;
  Linear down;  // F -> C
  DropoutLayer dropout = {};
  TapName where = {};
};

class Mlp {
 public:
  explicit Mlp(MlpParts parts) : parts_(std::move(parts)) {}

  Tensor forward(const Tensor& x, Run& run) const;  // [B, T, C]
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);
  const MlpParts& parts() const { return parts_; }

 private:
  Tensor gate_input(const Tensor& gate) const;
  Tensor gated(const Tensor& up) const;  // the gate's factor
  Tensor plain_backward(const Tensor& dy, Run& run, Gradients& gradients) const;

  MlpParts parts_;
};

}  // namespace heed
