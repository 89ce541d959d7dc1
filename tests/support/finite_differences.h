// Gradients by central differences in double, with which every backward pass is compared.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/philox.h"
#include "heed/tensor.h"

namespace heed::test {

/// sum(weights * values): a scalar whose gradient by `values` is `weights`. Both f64.
inline double weighted_sum(const ConstView& values, const ConstView& weights) {
  const Tensor left = Tensor::copy_of(values);
  const Tensor right = Tensor::copy_of(weights);
  double sum = 0;
  for (std::int64_t i = 0; i < left.element_count(); ++i)
    sum += left.data<double>()[i] * right.data<double>()[i];
  return sum;
}

/// Expects d(scalar) / d(input) to be `gradient`, at up to `samples` elements chosen by chance.
/// `scalar` reads `input` (f64, row-major), which is put back. With a step of 1e-5 the error of the
/// difference is about 1e-11 of the third derivative, and rounding 1e-11 of the scalar.
inline void expect_gradient(const View& input, const ConstView& gradient,
                            const std::function<double()>& scalar, double tolerance = 1e-6,
                            std::int64_t samples = 40) {
  ASSERT_EQ(input.dtype(), DType::kF64);
  ASSERT_EQ(input.shape(), gradient.shape());
  constexpr double kStep = 3e-6;  // with 1e-5, third derivatives of 1e8 err by 1e-3
  const Tensor expected = Tensor::converted(gradient, DType::kF64);
  Random random(input.element_count());
  const std::int64_t count = input.element_count();
  for (std::int64_t n = 0; n < std::min(samples, count); ++n) {
    const auto i = count <= samples
                       ? n
                       : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
    double& element = input.data<double>()[i];
    const double kept = element;
    element = kept + kStep;
    const double above = scalar();
    element = kept - kStep;
    const double below = scalar();
    element = kept;
    const double difference = (above - below) / (2 * kStep);
    EXPECT_NEAR(expected.data<double>()[i], difference, tolerance * (1 + std::abs(difference)))
        << "element " << i << " of " << to_string(input.shape());
  }
}

}  // namespace heed::test
