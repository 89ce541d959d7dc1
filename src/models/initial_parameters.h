// Random weights that a fresh model begins with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "heed/nn/parameter.h"

namespace heed {

/// What is called bias is 0, other vectors are `norm`, and matrices are normal with
/// `deviation(name)`; each parameter is from a stream of its own name.
struct InitialParameters {
  std::uint64_t seed = 0;
  std::function<double(std::string_view name)> deviation;
  float norm = 1;
};
void initialise(std::span<Parameter* const> parameters, const InitialParameters& how);

}  // namespace heed
