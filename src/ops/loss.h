// The loss that training minimises.
#pragma once

#include <cstdint>

#include "heed/tensor.h"

namespace heed {

inline constexpr std::int32_t kIgnoredTarget = -100;

/// Mean over the counted rows of -log softmax(logits)[target], in nats.
struct CrossEntropyArgs {
  ConstView logits = {};   // [..., V] f32 or f64, row-major
  ConstView targets = {};  // [...] i32; rows with kIgnoredTarget do not count
  /// If given, receives gradient_scale * d(mean) / d(logits). May be the memory of the logits
  /// themselves.
  View dlogits = {};
  double gradient_scale = 1;
  /// The share of each target that is spread evenly over the vocabulary (Szegedy et al. 2016,
  /// section 7), in [0, 1): the loss is (1 - s) times the target's plus s times the mean over all
  /// classes.
  double smoothing = 0;
};

struct CrossEntropy {
  double mean = 0;  // summed in f64 in row order; 0 if no row counts
  std::int64_t counted = 0;
};

CrossEntropy cross_entropy(const CrossEntropyArgs& args);

}  // namespace heed
