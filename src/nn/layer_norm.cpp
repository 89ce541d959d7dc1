#include "nn/layer_norm.h"

#include "heed/ops/norm.h"

namespace heed {

LayerNorm::LayerNorm(const std::string& name, std::int64_t width, double epsilon)
    : weight_{.name = name + ".weight", .value = Tensor::empty({width}), .decays = false},
      bias_{.name = name + ".bias", .value = Tensor::empty({width}), .decays = false},
      epsilon_(epsilon) {}

Tensor LayerNorm::forward(const Tensor& x, Run& run) const {
  if (run.saved != nullptr) run.saved->put(x.share());
  return layer_norm({.x = x, .weight = weight_.value, .bias = bias_.value, .epsilon = epsilon_});
}

Tensor LayerNorm::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  const Tensor x = run.saved->take();
  return layer_norm_backward(
      {.x = x, .weight = weight_.value, .bias = bias_.value, .epsilon = epsilon_}, dy,
      {.dweight = gradients.of(weight_), .dbias = gradients.of(bias_)});
}

void LayerNorm::collect(std::vector<Parameter*>& into) {
  into.push_back(&weight_);
  into.push_back(&bias_);
}

}  // namespace heed
