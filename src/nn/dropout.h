// Dropout at one place of a model; active only if the run has a dropout seed.
#pragma once

#include <cstdint>

#include "heed/model.h"

namespace heed {

struct DropoutLayer {
  double rate = 0;
  std::uint32_t site = 0;  // unique in the model

  bool active(const Run& run) const { return run.dropout_seed.has_value() && rate > 0; }
  /// Works in place, in the memory of x.
  Tensor forward(Tensor x, const Run& run) const;
  /// Returns a copy if dropout is active, because the caller still needs dy beside the branch.
  Tensor backward(const Tensor& dy, const Run& run) const;
};

}  // namespace heed
