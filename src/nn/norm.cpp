#include "nn/norm.h"

#include <numeric>

#include "heed/operators.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

std::shared_ptr<Parameter> vector_of(std::string name, std::int64_t width) {
  auto parameter = std::make_shared<Parameter>();
  parameter->name = std::move(name);
  parameter->value = Tensor::empty({width});
  parameter->decays = false;
  return parameter;
}

}  // namespace

Norm::Norm(const std::string& name, const NormShape& shape) : shape_(shape) {
  if (shape.is_scalar) weight_ = vector_of(name, 1);
  if (shape.is_scalar || shape.factor != 0) return;
  if (shape.weight) weight_ = vector_of(name + ".weight", shape.width);
  if (shape.centred && shape.bias) bias_ = vector_of(name + ".bias", shape.width);
}

Norm Norm::shared() const {
  Norm other = *this;
  other.is_first_ = false;
  return other;
}

std::optional<double> Norm::factor() const {
  if (shape_.is_scalar) return Tensor::converted(weight_->value, DType::kF64).data<double>()[0];
  return shape_.factor != 0 ? std::optional(shape_.factor) : std::nullopt;
}

Tensor Norm::scale(DType dtype) const {
  if (weight_ && shape_.offset == 0) return weight_->value.share();
  Tensor scale = weight_ ? weight_->value.clone() : Tensor::zeros({shape_.width}, dtype);
  return add_number(std::move(scale), weight_ ? shape_.offset : 1);
}

Tensor Norm::shift(DType dtype) const {
  return bias_ ? bias_->value.share() : Tensor::zeros({shape_.width}, dtype);
}

namespace {

// Adds the sum of the products of all elements.
void add_sum_of_products(const Tensor& a, const Tensor& b, Tensor& into) {
  const Tensor x = Tensor::converted(a, DType::kF64), y = Tensor::converted(b, DType::kF64);
  const double* const first = x.data<double>();
  Tensor sum = Tensor::empty({1}, DType::kF64);
  *sum.data<double>() = std::inner_product(first, first + x.element_count(), y.data<double>(), 0.0);
  add_to(into, Tensor::converted(sum, into.dtype()));
}

}  // namespace

Tensor Norm::forward(const Tensor& x, Run& run) const {
  if (shape_.is_scalar && run.saved != nullptr) run.saved->put(x.share());
  if (const auto factor = this->factor()) return scaled(x.clone(), *factor);
  if (run.saved != nullptr) run.saved->put(x.share());
  const Tensor weight = scale(x.dtype());
  if (!shape_.centred) return rms_norm({.x = x, .weight = weight, .epsilon = shape_.epsilon});
  const Tensor bias = shift(x.dtype());
  return layer_norm({.x = x, .weight = weight, .bias = bias, .epsilon = shape_.epsilon});
}

Tensor Norm::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  if (shape_.is_scalar) add_sum_of_products(dy, run.saved->take(), gradients.of(*weight_));
  if (const auto factor = this->factor()) return scaled(dy.clone(), *factor);
  const Tensor x = run.saved->take();
  const Tensor weight = scale(x.dtype());
  Tensor unused;  // gradient of a constant
  const auto into = [&](const std::shared_ptr<Parameter>& parameter) -> View {
    if (parameter) return gradients.of(*parameter);
    if (!unused.given()) unused = Tensor::zeros(weight.shape(), x.dtype());
    return unused.view();
  };
  if (!shape_.centred)
    return rms_norm_backward({.x = x, .weight = weight, .epsilon = shape_.epsilon}, dy,
                             into(weight_));
  const Tensor bias = shift(x.dtype());
  return layer_norm_backward({.x = x, .weight = weight, .bias = bias, .epsilon = shape_.epsilon},
                             dy, {.dweight = into(weight_), .dbias = into(bias_)});
}

NormNumbers Norm::numbers() const {
  return {.centred = shape_.centred,
          .weight = weight_ && !shape_.is_scalar ? weight_->value.view() : ConstView(),
          .bias = bias_ ? bias_->value.view() : ConstView(),
          .epsilon = shape_.epsilon,
          .offset = shape_.offset,
          .factor = factor()};
}

void Norm::collect(std::vector<Parameter*>& into) {
  for (const auto& parameter : {weight_, bias_})
    if (parameter && is_first_) into.push_back(parameter.get());
}

}  // namespace heed
