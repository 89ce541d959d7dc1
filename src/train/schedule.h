// The learning rate over a run.
#pragma once

#include <cstdint>

namespace heed {

struct Schedule {
  double peak = 1e-3;
  double last = 1e-4;
  std::int64_t warmup = 100;
  std::int64_t steps = 2000;
};

/// For `step` in [0, steps): rises linearly over the warm-up, peak (step + 1) / (warmup + 1), then
/// falls along half a cosine, from peak at step = warmup towards last at step = steps (Loshchilov &
/// Hutter, "SGDR", 2017, equation 5, without restarts).
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace heed
