// Reproducible random tensors and their distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/philox.h"
#include "heed/tensor.h"

namespace heed::test {

/// Standard normal values.
inline Tensor random_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::kF32) {
  Random random(seed);
  Tensor values = Tensor::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < values.element_count(); ++i)
    values.data<double>()[i] = random.normal();
  return Tensor::converted(values, dtype);
}

/// Ids in [0, bound).
inline Tensor random_ids(const Shape& shape, std::int64_t bound, std::uint64_t seed) {
  Random random(seed);
  Tensor ids = Tensor::empty(shape, DType::kI32);
  for (std::int64_t i = 0; i < ids.element_count(); ++i)
    ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(random.below(bound));
  return ids;
}

/// The largest |a - b|; NaN if either is NaN, so that no comparison with it holds.
inline double largest_difference(const ConstView& a, const ConstView& b) {
  const Tensor left = Tensor::converted(a, DType::kF64);
  const Tensor right = Tensor::converted(b, DType::kF64);
  if (!(left.shape() == right.shape())) return std::nan("");
  double largest = 0;
  for (std::int64_t i = 0; i < left.element_count(); ++i) {
    const double difference = std::abs(left.data<double>()[i] - right.data<double>()[i]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(difference)) return difference;
  }
  return largest;
}

/// True where every bit agrees.
inline bool same_bits(const ConstView& a, const ConstView& b) {
  const Tensor left = Tensor::copy_of(a);
  const Tensor right = Tensor::copy_of(b);
  const auto bytes = static_cast<std::size_t>(left.element_count()) * size_bytes(left.dtype());
  const auto* first = static_cast<const unsigned char*>(left.view().raw());
  const auto* second = static_cast<const unsigned char*>(right.view().raw());
  return left.shape() == right.shape() && std::equal(first, first + bytes, second);
}

}  // namespace heed::test
