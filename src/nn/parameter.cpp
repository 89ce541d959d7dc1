#include "nn/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "heed/error.h"
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

Tensor Saved::take() {
  if (tensors_.empty())
    fail("backward", "run.saved", "empty", "what the forward pass of the same run kept");
  Tensor top = std::move(tensors_.back());
  tensors_.pop_back();
  return top;
}

std::int64_t Saved::bytes() const {
  std::int64_t sum = 0;
  for (const Tensor& tensor : tensors_)
    sum += tensor.element_count() * static_cast<std::int64_t>(size_bytes(tensor.dtype()));
  return sum;
}

std::vector<std::int64_t> Run::row_lengths(std::int64_t batch, std::int64_t length) const {
  const std::vector<std::int64_t>& given = extents.query_length;
  const auto rows = static_cast<std::size_t>(batch);
  if (given.size() > 1 && given.size() != rows)
    fail("run", "extents.query_length", fmt::format("a list of {}", given.size()),
         fmt::format("none, one or {} entries (the batch)", batch));
  for (const std::int64_t tokens : given)
    if (tokens < 0 || tokens > length)
      fail("run", "extents.query_length", tokens, fmt::format("0 to {}, the tokens given", length));
  if (given.size() == rows) return given;
  return std::vector<std::int64_t>(rows, given.empty() ? length : given[0]);
}

namespace {

constexpr std::array<std::string_view, 4> kStackNames = {"self", "encoder", "decoder", "cross"};

}  // namespace

std::string_view stack_name(Stack stack) { return kStackNames[static_cast<std::size_t>(stack)]; }

std::optional<Stack> stack_of(std::string_view name) {
  const auto found = std::ranges::find(kStackNames, name);
  if (found == kStackNames.end()) return {};
  return static_cast<Stack>(found - kStackNames.begin());
}

void Tap::at(const TapName& /*name*/, View /*value*/) {}
void Tap::attended(const TapName& /*name*/, const AttentionArgs& /*args*/,
                   const AttendedConstView& /*attended*/) {}
Mask Tap::mask(Stack /*stack*/, int /*layer*/) { return {}; }

}  // namespace heed
