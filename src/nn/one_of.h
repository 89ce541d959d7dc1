// One of several layers that have the same passes.
#pragma once

#include <concepts>
#include <utility>
#include <variant>
#include <vector>

#include "heed/model.h"
#include "nn/parameter.h"

namespace heed {

template <class... Layers>
class OneOf {
 public:
  template <class Layer>
    requires(std::same_as<Layer, Layers> || ...)
  OneOf(Layer layer) : layer_(std::move(layer)) {}  // NOLINT(*-explicit-*)

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
  /// Null if it is another layer.
  template <class Layer>
  const Layer* get() const {
    return std::get_if<Layer>(&layer_);
  }

 private:
  std::variant<Layers...> layer_;
};

}  // namespace heed
