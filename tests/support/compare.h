// Distances between tensors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "heed/tensor.h"

namespace heed::test {

/// Every element as f64, row-major.
inline std::vector<double> values(const ConstView& view) {
  const Tensor copy = Tensor::converted(view, DType::kF64);
  return {copy.data<double>(), copy.data<double>() + copy.element_count()};
}

/// Largest |a - b| over the largest |b| (or 1e-30); equal infinities count as equal; a NaN or
/// infinity on one side only counts as infinitely far.
inline double distance(const ConstView& a, const ConstView& b) {
  if (!(a.shape() == b.shape())) return INFINITY;
  const std::vector<double> x = values(a);
  const std::vector<double> y = values(b);
  double worst = 0;
  double largest = 1e-30;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) {
      if (std::isfinite(y[i])) largest = std::max(largest, std::abs(y[i]));
      continue;
    }
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return INFINITY;
    worst = std::max(worst, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(y[i]));
  }
  return worst / largest;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.view().raw(), b.view().raw(),
                     static_cast<std::size_t>(a.element_count()) * size_bytes(a.dtype())) == 0;
}

}  // namespace heed::test
