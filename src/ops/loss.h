// The loss that training minimises.
#pragma once

#include <cstdint>

#include "heed/tensor/tensor.h"

namespace heed {

inline constexpr std::int32_t kIgnoredTarget = -100;

/// Mean over the counted rows of -log softmax(logits)[target], in nats.
struct CrossEntropyArgs {
  ConstView logits = {};   // [..., V] f32 or f64, row-major
  ConstView targets = {};  // [...] i32; rows with kIgnoredTarget do not count
  /// Given: gets gradient_scale * d(mean) / d(logits). May be the memory of the logits themselves.
  View dlogits = {};
  double gradient_scale = 1;
};

struct CrossEntropy {
  double mean = 0;  // summed in f64, rows in order; 0 when nothing counts
  std::int64_t counted = 0;
};

CrossEntropy cross_entropy(const CrossEntropyArgs& args);

}  // namespace heed
