#include "train/initial_positions.h"

#include <cmath>
#include <numbers>

namespace heed {

void start_sinusoidal(Parameter& table) {
  constexpr double kBase = 10000;
  const double amplitude =
      0.02 * std::numbers::sqrt2;  // the root mean square of a sine is 1/sqrt 2
  const std::int64_t positions = table.value.dim(0);
  const std::int64_t width = table.value.dim(1);
  const std::int64_t half = (width + 1) / 2;
  float* values = table.value.data<float>();
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t c = 0; c < width; ++c) {
      const double share = static_cast<double>(c % half) / static_cast<double>(half);
      const double angle = static_cast<double>(p) * std::pow(kBase, -share);
      values[p * width + c] =
          static_cast<float>(amplitude * (c < half ? std::sin(angle) : std::cos(angle)));
    }
}

}  // namespace heed
