#include "nn/rms_norm.h"

#include "heed/ops/rms_norm.h"

namespace heed {

RmsNorm::RmsNorm(const std::string& name, std::int64_t width, double epsilon, double offset)
    : weight_{.name = name + ".weight", .value = Tensor::empty({width}), .decays = false},
      epsilon_(epsilon),
      offset_(offset) {}

Tensor RmsNorm::scale() const {
  if (offset_ == 0) return weight_.value.share();
  Tensor scale = weight_.value.clone();
  for (std::int64_t i = 0; i < scale.element_count(); ++i) {
    if (scale.dtype() == DType::kF64)
      scale.data<double>()[i] += offset_;
    else
      scale.data<float>()[i] += static_cast<float>(offset_);
  }
  return scale;
}

Tensor RmsNorm::forward(const Tensor& x, Run& run) const {
  if (run.saved != nullptr) run.saved->put(x.share());
  const Tensor weight = scale();
  return rms_norm({.x = x, .weight = weight, .epsilon = epsilon_});
}

Tensor RmsNorm::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  const Tensor x = run.saved->take();
  const Tensor weight = scale();
  return rms_norm_backward({.x = x, .weight = weight, .epsilon = epsilon_}, dy,
                           gradients.of(weight_));
}

void RmsNorm::collect(std::vector<Parameter*>& into) { into.push_back(&weight_); }

}  // namespace heed
