#include "nn/sinusoids.h"

#include <cmath>

namespace heed {
namespace {

template <typename T>
void fill(const ConstView& positions, std::int64_t width, T* row) {
  constexpr double kBase = 10000;
  const std::int64_t half = (width + 1) / 2;
  for (std::int64_t i = 0; i < positions.element_count(); ++i, row += width)
    for (std::int64_t c = 0; c < width; ++c) {
      const double exponent =
          -2 * static_cast<double>(c < half ? c : c - half) / static_cast<double>(width);
      const double angle = positions.data<std::int32_t>()[i] * std::pow(kBase, exponent);
      row[c] = static_cast<T>(c < half ? std::sin(angle) : std::cos(angle));
    }
}

}  // namespace

Tensor sinusoids(const ConstView& positions, std::int64_t width, DType dtype) {
  Tensor rows = Tensor::empty({positions.dim(0), positions.dim(1), width}, dtype);
  if (dtype == DType::kF64)
    fill(positions, width, rows.data<double>());
  else
    fill(positions, width, rows.data<float>());
  return rows;
}

}  // namespace heed
