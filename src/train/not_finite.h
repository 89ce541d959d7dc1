// Ends a run whose numbers are no longer finite.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heed/model.h"
#include "heed/tensor.h"

namespace heed {

double sum_of_squares(const Tensor& tensor);  // not finite if an element is not

struct NotFinite {
  std::string_view what;  // "the loss"
  double value;
  std::int64_t step;
  std::string last_checkpoint;
};

/// Names the first tensor, a parameter or its gradient, that is not finite.
[[noreturn]] void fail_not_finite(const NotFinite& found, std::span<Parameter* const> parameters,
                                  const Gradients& gradients);

}  // namespace heed
