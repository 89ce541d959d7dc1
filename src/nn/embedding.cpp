#include "nn/embedding.h"

#include <cmath>

#include "ops/embedding.h"

namespace heed {

Embedding::Embedding(const std::string& name, std::int64_t rows, std::int64_t width)
    : table_(std::make_shared<Parameter>()) {
  table_->name = name + ".weight";
  table_->value = Tensor::empty({rows, width});
  table_->looked_up = true;
}

Tensor Embedding::forward(const ConstView& ids) const {
  return table_->packed ? embedding(*table_->packed, ids) : embedding(table_->value, ids);
}

void Embedding::backward(const ConstView& ids, const Tensor& dy, Gradients& gradients) const {
  embedding_backward(ids, dy, gradients.of(*table_));
}

namespace {

template <typename T>
void fill_rows(const ConstView& positions, const SinusoidShape& shape, T* row) {
  constexpr double kBase = 10000;
  const std::int64_t width = shape.width;
  const std::int64_t half = shape.reaches_base ? width / 2 : (width + 1) / 2;
  const double steps = shape.reaches_base ? static_cast<double>(half - 1)  // from f = 1 to 1/kBase
                                          : static_cast<double>(width) / 2;
  for (std::int64_t i = 0; i < positions.element_count(); ++i, row += width)
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int32_t position = positions.data<std::int32_t>()[i];
      const bool is_zero = position == shape.zero || (shape.reaches_base && c == 2 * half);
      const double exponent = -static_cast<double>(c < half ? c : c - half) / steps;
      const double angle = position * std::pow(kBase, exponent);
      row[c] = is_zero ? 0 : static_cast<T>(c < half ? std::sin(angle) : std::cos(angle));
    }
}

}  // namespace

Tensor sinusoids(const ConstView& positions, const SinusoidShape& shape, DType dtype) {
  Tensor rows = Tensor::empty({positions.dim(0), positions.dim(1), shape.width}, dtype);
  if (dtype == DType::kF64)
    fill_rows(positions, shape, rows.data<double>());
  else
    fill_rows(positions, shape, rows.data<float>());
  return rows;
}

}  // namespace heed
