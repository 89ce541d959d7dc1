// Converts the C structs of attention to the operators' arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heed/attention.h"
#include "heed/c.h"
#include "heed/mask.h"
#include "heed/tensor.h"
#include "tensor/operand.h"

namespace heed::c {

AttentionArgs attention_args(std::string_view op, const heed_attention_args* given);

/// Where results are written ("into"), or results of a forward pass ("attended").
AttendedView attended_view(std::string_view op, std::string_view argument,
                           const heed_attended* given);
AttendedConstView attended_const_view(std::string_view op, const heed_attended* given);

}  // namespace heed::c

// NOLINTNEXTLINE(readability-identifier-naming): the name in C
struct heed_mask {
  heed::Mask mask;
};

namespace heed::c {

/// Where a result is written, and its name in messages.
struct Place {
  std::string name;
  View into = {};

  Operand operand() const { return {name, into}; }
};

/// Checks that there is memory, which overlaps neither itself nor `taken`.
void check_memory(std::string_view op, const Place& place, std::span<const Operand> taken);
void check_fits(std::string_view op, const Place& place, const Shape& shape, DType dtype);

}  // namespace heed::c
