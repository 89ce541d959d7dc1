// A layer whose parameters are random and f64, and the check of all its gradients.
#pragma once

#include <vector>

#include "heed/model.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed::test {

/// Standard normal times `size`, f64: finite differences need the digits.
inline void randomise(const std::vector<Parameter*>& parameters, double size = 0.5) {
  std::uint64_t seed = 100;
  for (Parameter* parameter : parameters) {
    parameter->value = random_tensor(parameter->value.shape(), seed++, DType::kF64);
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      parameter->value.data<double>()[i] *= size;
  }
}

template <typename Layer>
std::vector<Parameter*> parameters_of(Layer& layer) {
  std::vector<Parameter*> parameters;
  layer.collect(parameters);
  return parameters;
}

/// Forward and backward of a layer against finite differences, for the input and every parameter.
/// `run` says what else the pass has (dropout, extents).
template <typename Layer>
void expect_layer_gradients(Layer& layer, const Shape& input, Run run = {}) {
  randomise(parameters_of(layer));
  Tensor x = random_tensor(input, 1, DType::kF64);
  Saved saved;
  run.saved = &saved;
  const Tensor y = layer.forward(x, run);
  const Tensor dy = random_tensor(y.shape(), 2, DType::kF64);
  Gradients gradients;
  const Tensor dx = layer.backward(dy, run, gradients);
  EXPECT_TRUE(saved.empty());

  run.saved = nullptr;
  const auto scalar = [&] { return weighted_sum(layer.forward(x, run), dy); };
  expect_gradient(x, dx, scalar);
  for (Parameter* parameter : parameters_of(layer)) {
    SCOPED_TRACE(parameter->name);
    expect_gradient(parameter->value, gradients.of(*parameter), scalar);
  }
}

}  // namespace heed::test
