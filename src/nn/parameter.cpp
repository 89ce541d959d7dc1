#include "heed/nn/parameter.h"

#include <cstring>

namespace heed {

Tensor& Gradients::of(const Parameter& parameter) {
  Tensor& gradient = gradients_[&parameter];
  if (!gradient.given()) gradient = Tensor::zeros(parameter.value.shape(), parameter.value.dtype());
  return gradient;
}

const Tensor* Gradients::find(const Parameter& parameter) const {
  const auto found = gradients_.find(&parameter);
  return found == gradients_.end() ? nullptr : &found->second;
}

void Gradients::clear() {
  for (auto& [parameter, gradient] : gradients_)
    std::memset(gradient.view().raw(), 0,
                static_cast<std::size_t>(gradient.element_count()) * size_bytes(gradient.dtype()));
}

}  // namespace heed
