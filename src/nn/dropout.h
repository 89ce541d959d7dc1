// Dropout at one place of a model; on only where the run has a dropout seed.
#pragma once

#include <cstdint>

#include "heed/nn/run.h"

namespace heed {

struct DropoutLayer {
  double rate = 0;
  std::uint32_t site = 0;  // unique in the model

  bool active(const Run& run) const { return run.dropout_seed.has_value() && rate > 0; }
  /// Works in place, in the memory of x.
  Tensor forward(Tensor x, const Run& run) const;
  /// A copy where dropout is active: dy belongs to the caller and flows on beside the branch.
  Tensor backward(const Tensor& dy, const Run& run) const;
};

}  // namespace heed
