#include "nn/parameter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "heed/model.h"
#include "ops/packed_matrix.h"
#include "tensor/views.h"

namespace heed {

std::int64_t Parameter::element_count() const {
  return packed ? packed->inner() * packed->columns() : value.element_count();
}

DType Parameter::dtype() const { return packed ? packed->dtype() : value.dtype(); }

std::string Parameter::held_in() const {
  return std::string(packed && packed->blocks() != nullptr ? packed->blocks()->name
                                                           : heed::name(dtype()));
}

std::int64_t Parameter::held_bytes() const {
  const BlockType* const blocks = packed ? packed->blocks() : nullptr;
  return blocks != nullptr ? blocks->bytes_of(element_count())
                           : element_count() * static_cast<std::int64_t>(size_bytes(dtype()));
}

bool Parameter::is_streamed() const { return packed && packed->is_streamed(); }

DType packed_type(std::span<const Parameter* const> parameters) {
  const auto found = std::ranges::find_if(
      parameters, [](const Parameter* parameter) { return parameter->packed != nullptr; });
  return found == parameters.end() ? DType::kF32 : (*found)->dtype();
}

bool is_packed(const Parameter& parameter, DType dtype) {
  return parameter.linear && packing_pays(dtype);
}

PackedMatrix packed_form(WeightLayout layout, const ConstView& value, DType dtype) {
  // A file's numbers need not lie where their type wants them.
  const bool as_it_lies = value.dtype() == dtype && value.is_aligned();
  const Tensor rounded = as_it_lies ? Tensor() : Tensor::converted(value, dtype);
  const ConstView weight = as_it_lies ? value : rounded.view();
  return PackedMatrix(layout == WeightLayout::kInOut ? weight : weight.permute({1, 0}));
}

void pack(Parameter& parameter, const ConstView& value, DType dtype) {
  parameter.packed = std::make_shared<const PackedMatrix>(
      packed_form(parameter.linear.value_or(WeightLayout::kOutIn), value, dtype));
  parameter.value = {};
}

void pack(Parameter& parameter, const BlockType& type, const ConstView& rows) {
  parameter.packed = std::make_shared<const PackedMatrix>(type, rows);
  parameter.value = {};
}

void pack(std::span<Parameter* const> parameters, DType dtype) {
  for (Parameter* const parameter : parameters)
    if (is_packed(*parameter, dtype)) pack(*parameter, parameter->value, dtype);
}

void stream(Parameter& parameter, DType dtype, const BlockType* blocks,
            std::function<PackedMatrix()> read) {
  const Shape shape = parameter.value.shape();
  const bool is_in_out = parameter.linear == WeightLayout::kInOut;
  parameter.packed = std::make_shared<const PackedMatrix>(
      PackedMatrix::Streamed{.inner = shape[is_in_out ? 0 : 1],
                             .columns = shape[is_in_out ? 1 : 0],
                             .dtype = dtype,
                             .blocks = blocks,
                             .read = std::move(read)});
  parameter.value = {};
}

void hold(std::span<Parameter* const> parameters) {
  for (Parameter* const parameter : parameters)
    if (parameter->is_streamed())
      parameter->packed = std::make_shared<const PackedMatrix>(parameter->packed->held());
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
    std::memset(gradient.view().raw(), 0, byte_count(gradient));
}

}  // namespace heed
