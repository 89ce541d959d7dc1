#include "train/not_finite.h"

#include <fmt/format.h>

#include <cmath>

#include "heed/error.h"
#include "ops/kernels/adamw.h"

namespace heed {

double sum_of_squares(const Tensor& tensor) {
  return kernels::sum_of_squares(tensor.data<float>(), tensor.element_count());
}

namespace {

bool all_finite(const Tensor& tensor) { return std::isfinite(sum_of_squares(tensor)); }

}  // namespace

void fail_not_finite(const NotFinite& found, std::span<Parameter* const> parameters,
                     const Gradients& gradients) {
  std::string tensor = "no tensor";
  for (const Parameter* parameter : parameters) {
    const Tensor* gradient = gradients.find(*parameter);
    const bool bad_value = !all_finite(parameter->value);
    if (!bad_value && all_finite(*gradient)) continue;
    tensor = fmt::format("{}{}", bad_value ? "" : "the gradient of ", parameter->name);
    break;
  }
  fail({.code = ErrorCode::kFailed,
        .op = "train",
        .argument = found.what,
        .found = fmt::format("{} at step {}: {} is not finite",
                             std::isnan(found.value) ? "nan" : "infinite", found.step, tensor),
        .hint = "last good checkpoint: " + found.last_checkpoint});
}

}  // namespace heed
