// The part of a block that mixes tokens: attention, or a recurrent layer.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "nn/attention.h"
#include "nn/delta_rule.h"

namespace heed {

class Mixer {
 public:
  Mixer(Attention attention) : layer_(std::move(attention)) {}    // NOLINT(*-explicit-*)
  Mixer(DeltaRule delta_rule) : layer_(std::move(delta_rule)) {}  // NOLINT(*-explicit-*)

  Tensor forward(const Tensor& x, Run& run) const {
    return std::visit([&](const auto& layer) { return layer.forward(x, run); }, layer_);
  }
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const {
    return std::visit([&](const auto& layer) { return layer.backward(dy, run, gradients); },
                      layer_);
  }
  void collect(std::vector<Parameter*>& into) {
    std::visit([&](auto& layer) { layer.collect(into); }, layer_);
  }
  /// Null for attention.
  const DeltaRule* delta_rule() const { return std::get_if<DeltaRule>(&layer_); }
  /// Null for a recurrent layer.
  const Attention* attention() const { return std::get_if<Attention>(&layer_); }

 private:
  std::variant<Attention, DeltaRule> layer_;
};

}  // namespace heed
