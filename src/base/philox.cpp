#include "base/philox.h"

#include <cmath>
#include <numbers>

namespace heed {

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log((next_u32() + 0.5) * 0x1p-32));
  return radius * std::cos(2.0 * std::numbers::pi * (next_u32() * 0x1p-32));
}

}  // namespace heed
