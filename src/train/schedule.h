// The learning rate over a run.
#pragma once

#include <cstdint>
#include <string_view>

#include "heed/train.h"

namespace heed {

struct Schedule {
  /// After the warm-up, from `peak` at step = warmup on:
  ///   cosine        along half a cosine to `last` at the last step, steps - 1 (Loshchilov &
  ///                 Hutter, "SGDR", 2017, equation 5, without restarts)
  ///   linear        along a line to `last`
  ///   inverse-sqrt  peak sqrt(warmup / step) (Vaswani et al. 2017, section 5.3)
  ///   constant      peak
  /// The last two end with a linear decay over `decay` steps, to `last` at the last step.
  std::string_view form = "cosine";
  double peak = 1e-3;
  double last = 1e-4;
  std::int64_t warmup = 100;
  std::int64_t steps = 2000;
  std::int64_t decay = 0;
};

/// The schedule of the configuration, which must outlive it.
Schedule schedule_of(const TrainConfig& config);

/// For `step` in [0, steps): increases linearly during the warm-up, peak (step + 1) / (warmup + 1).
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace heed
