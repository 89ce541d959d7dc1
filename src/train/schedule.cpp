#include "train/schedule.h"

#include <cmath>
#include <numbers>

namespace heed {

double learning_rate(const Schedule& schedule, std::int64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule.warmup);
  if (step < schedule.warmup) return schedule.peak * (at + 1) / (warmup + 1);
  if (step >= schedule.steps) return schedule.last;
  const double done = (at - warmup) / (static_cast<double>(schedule.steps) - warmup);
  const double share = 0.5 * (1 + std::cos(std::numbers::pi * done));
  return schedule.last + share * (schedule.peak - schedule.last);
}

}  // namespace heed
