#include "nn/linear.h"

#include <algorithm>
#include <utility>

#include "base/numbers.h"
#include "heed/error.h"
#include "ops/matmul.h"
#include "ops/packed_matrix.h"

namespace heed {
namespace {

// Treats all leading axes as rows.
Shape as_matrix(const ConstView& x) {
  return {x.element_count() / std::max<std::int64_t>(1, x.dim(-1)), x.dim(-1)};
}

Shape with_width(const Shape& shape, std::int64_t width) {
  Shape result = shape;
  result[shape.rank() - 1] = width;
  return result;
}

}  // namespace

Linear::Linear(const std::string& name, const LinearShape& shape)
    : weight_(std::make_shared<Parameter>()), layout_(shape.layout) {
  require_enumerator("linear", "layout", shape.layout, WeightLayout::kOutIn);
  const bool in_first = shape.layout == WeightLayout::kInOut;
  weight_->name = name + ".weight";
  weight_->linear = layout_;
  weight_->value =
      Tensor::empty(in_first ? Shape{shape.in, shape.out} : Shape{shape.out, shape.in});
  if (shape.bias)
    bias_ = std::make_shared<Parameter>(
        Parameter{.name = name + ".bias", .value = Tensor::empty({shape.out}), .decays = false});
}

Linear::Linear(std::shared_ptr<Parameter> weight, WeightLayout layout)
    : weight_(std::move(weight)), layout_(layout) {
  weight_->linear = layout_;
}

ConstView Linear::in_out() const {
  if (weight_->packed)
    fail("linear", weight_->name, "packed",
         "a plain weight: a model that was loaded to run has no gradients",
         ErrorCode::kUnsupported);
  const ConstView weight = weight_->value;
  return layout_ == WeightLayout::kInOut ? weight : weight.permute({1, 0});
}

Tensor Linear::forward(const Tensor& x, Run& run) const {
  Tensor y = apply(x, run);
  if (run.saved != nullptr) run.saved->put(x.share());
  return y;
}

Tensor Linear::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  add_weight_gradients(run.saved->take(), dy, run, gradients);
  return input_gradient(dy, run);
}

Tensor Linear::apply(const Tensor& x, const Run& run) const { return apply(x, bias(), run); }

Tensor Linear::product(const Tensor& x, const Run& run) const { return apply(x, {}, run); }

std::vector<Tensor> Linear::forward_each(std::span<const Linear* const> layers, const Tensor& x,
                                         Run& run) {
  std::vector<Tensor> all;
  std::vector<PackedMatmulArgs> products;
  std::vector<View> outs;
  for (const Linear* const layer : layers) {
    const PackedMatrix* const packed = layer->weight_->packed.get();
    if (packed == nullptr) {
      all.push_back(layer->apply(x, run));
    } else {
      Tensor y = layer->output_for(x);
      products.push_back({.a = x.view().reshape(as_matrix(x)),
                          .b = *packed,
                          .bias = layer->bias(),
                          .in_bulk = run.in_bulk});
      outs.push_back(y.view().reshape(as_matrix(y)));
      all.push_back(std::move(y));
    }
    if (run.saved != nullptr) run.saved->put(x.share());
  }
  matmul(products, outs);
  return all;
}

Tensor Linear::output_for(const Tensor& x) const {
  return Tensor::empty(with_width(x.shape(), outputs()), x.dtype());
}

Tensor Linear::apply(const Tensor& x, const ConstView& bias, const Run& run) const {
  const ConstView rows = x.view().reshape(as_matrix(x));
  const PackedMatrix* const packed = weight_->packed.get();
  Tensor y = output_for(x);
  const View out = y.view().reshape(as_matrix(y));
  if (packed != nullptr)
    matmul({.a = rows, .b = *packed, .bias = bias, .in_bulk = run.in_bulk}, out);
  else
    matmul({.a = rows, .b = in_out(), .bias = bias, .in_bulk = run.in_bulk, .bf16 = run.bf16}, out);
  return y;
}

std::int64_t Linear::outputs() const {
  return weight_->packed != nullptr ? weight_->packed->columns() : in_out().dim(1);
}

Linear Linear::held() const {
  Linear same = *this;
  if (weight_->packed == nullptr || !weight_->packed->is_streamed()) return same;
  same.weight_ = std::make_shared<Parameter>(
      Parameter{.name = weight_->name,
                .value = {},
                .linear = layout_,
                .packed = std::make_shared<const PackedMatrix>(weight_->packed->held())});
  return same;
}

void Linear::copy_row_of_weight(std::int64_t index, float* to) const {
  if (weight_->packed != nullptr) return weight_->packed->copy_column(index, to);
  const Tensor row = Tensor::converted(in_out().select(1, index), DType::kF32);
  std::copy_n(row.data<float>(), row.element_count(), to);
}

Tensor Linear::rows_of_weight() const {
  const PackedMatrix* const packed = weight_->packed.get();
  const std::int64_t in = packed != nullptr ? packed->inner() : in_out().dim(0);
  Tensor rows = Tensor::empty({outputs(), in});
  const Linear same = held();
  for (std::int64_t row = 0; row < outputs(); ++row)
    same.copy_row_of_weight(row, rows.data<float>() + row * in);
  return rows;
}

Tensor Linear::input_gradient(const Tensor& dy, const Run& run) const {
  const ConstView weight = in_out();
  Tensor dx = Tensor::empty(with_width(dy.shape(), weight.dim(0)), dy.dtype());
  matmul({.a = dy.view().reshape(as_matrix(dy)),
          .b = weight.permute({1, 0}),
          .in_bulk = run.in_bulk,
          .bf16 = run.bf16},
         dx.view().reshape(as_matrix(dx)));
  return dx;
}

void Linear::add_weight_gradients(const Tensor& x, const Tensor& dy, const Run& run,
                                  Gradients& gradients) const {
  const ConstView x_rows = x.view().reshape(as_matrix(x));
  const ConstView dy_rows = dy.view().reshape(as_matrix(dy));
  View dweight = gradients.of(*weight_);
  const bool in_first = layout_ == WeightLayout::kInOut;
  matmul({.a = (in_first ? x_rows : dy_rows).permute({1, 0}),
          .b = in_first ? dy_rows : x_rows,
          .accumulate = true,
          .in_bulk = run.in_bulk,
          .bf16 = run.bf16},
         dweight);
  if (bias_) add_column_sums(gradients.of(*bias_), dy);
}

void Linear::collect(std::vector<Parameter*>& into) {
  into.push_back(weight_.get());
  if (bias_) into.push_back(bias_.get());
}

}  // namespace heed
