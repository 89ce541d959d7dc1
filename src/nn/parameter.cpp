#include "heed/nn/parameter.h"

#include <algorithm>
#include <cstring>

#include "ops/packed_matrix.h"

namespace heed {

std::int64_t Parameter::element_count() const {
  return packed ? packed->inner() * packed->columns() : value.element_count();
}

DType Parameter::dtype() const { return packed ? packed->dtype() : value.dtype(); }

DType packed_type(std::span<const Parameter* const> parameters) {
  const auto found = std::ranges::find_if(
      parameters, [](const Parameter* parameter) { return parameter->packed != nullptr; });
  return found == parameters.end() ? DType::kF32 : (*found)->dtype();
}

void pack(std::span<Parameter* const> parameters, DType dtype) {
  for (Parameter* const parameter : parameters) {
    if (!parameter->linear || !packing_pays(dtype)) continue;
    const Tensor rounded = parameter->value.dtype() == dtype
                               ? parameter->value.share()
                               : Tensor::converted(parameter->value, dtype);
    const ConstView weight = rounded;
    parameter->packed = std::make_shared<const PackedMatrix>(
        parameter->linear == WeightLayout::kInOut ? weight : weight.permute({1, 0}));
    parameter->value = {};
  }
}

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
