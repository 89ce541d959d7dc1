// The backward pass of a whole model against finite differences.
#pragma once

#include <gtest/gtest.h>

#include "heed/model.h"
#include "ops/loss.h"
#include "support/finite_differences.h"

namespace heed::test {

/// Makes the weights f64 and moves them far from their flat start.
inline void steepen(Model& model) {
  for (Parameter* parameter : model.parameters()) {
    parameter->value = Tensor::converted(parameter->value, DType::kF64);
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      parameter->value.data<double>()[i] =
          10 * parameter->value.data<double>()[i] + 0.01 * static_cast<double>(i % 7);
  }
}

/// Compares the gradients of the cross entropy at a few elements of each parameter.
inline void expect_model_gradients(Model& model, const Batch& batch, Run run, const Tensor& targets,
                                   double smoothing = 0) {
  steepen(model);
  const auto loss = [&](const Tensor& logits, const View& dlogits) {
    return cross_entropy(
               {.logits = logits, .targets = targets, .dlogits = dlogits, .smoothing = smoothing})
        .mean;
  };
  Saved saved;
  run.saved = &saved;
  const Tensor logits = model.forward(batch, run);
  Tensor dlogits = Tensor::empty(logits.shape(), DType::kF64);
  loss(logits, dlogits);
  Gradients gradients;
  model.backward(dlogits, batch, run, gradients);
  EXPECT_TRUE(saved.empty());
  run.saved = nullptr;
  for (Parameter* parameter : model.parameters()) {
    SCOPED_TRACE(parameter->name);
    expect_gradient(
        parameter->value, gradients.of(*parameter),
        [&] { return loss(model.forward(batch, run), {}); }, 1e-5, 3);
  }
}

}  // namespace heed::test
