// Results that the operators hand out as tensors, for memory of the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heed/tensor.h"
#include "tensor/operand.h"

namespace heed::c {

/// Where a result goes, and its name in messages.
struct Place {
  std::string name;
  View into = {};

  Operand operand() const { return {name, into}; }
};

/// Checks that there is memory, and that it overlaps neither itself nor `taken`.
void check_memory(std::string_view op, const Place& place, std::span<const Operand> taken);
void check_fits(std::string_view op, const Place& place, const Shape& shape, DType dtype);

}  // namespace heed::c
