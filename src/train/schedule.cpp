#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {
namespace {

// Without the final decay.
double held_rate(const Schedule& schedule, double at) {
  if (schedule.form == "constant") return schedule.peak;
  const auto warmup = static_cast<double>(std::max<std::int64_t>(schedule.warmup, 1));
  return schedule.peak * std::sqrt(warmup / std::max(at, warmup));
}

}  // namespace

Schedule schedule_of(const TrainConfig& config) {
  return {.form = config.schedule,
          .peak = config.learning_rate,
          .last = config.final_learning_rate,
          .warmup = config.warmup,
          .steps = config.steps,
          .decay = config.decay};
}

double learning_rate(const Schedule& schedule, std::int64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule.warmup);
  const auto end = static_cast<double>(schedule.steps - 1);  // the last step
  if (step < schedule.warmup) return schedule.peak * (at + 1) / (warmup + 1);
  if (schedule.form == "inverse-sqrt" || schedule.form == "constant") {
    const auto decay = static_cast<double>(schedule.decay);
    const double left = decay > 0 ? std::clamp((end - at) / decay, 0.0, 1.0) : 1;
    const double held = held_rate(schedule, std::min(at, std::max(end - decay, warmup)));
    return schedule.last + left * (held - schedule.last);
  }
  if (step >= schedule.steps - 1) return schedule.last;
  const double done = (at - warmup) / (end - warmup);
  const double share =
      schedule.form == "linear" ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return schedule.last + share * (schedule.peak - schedule.last);
}

}  // namespace heed
