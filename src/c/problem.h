// Converts the C structs of attention to the operators' arguments.
#pragma once

#include <array>
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

/// Which gradients heed_gradients requests, and where they are written.
class Gradients {
 public:
  Gradients(std::string_view op, const heed_gradients* into);

  /// dq, dk and dv are written in place; the others are copied by `write`.
  AttentionGradRequest request() const;
  /// Checks the memory of the others before any computation.
  void check(const AttentionArgs& args, std::span<const Operand> given) const;
  void write(const AttentionGrads& grads) const;

 private:
  struct Copied {
    Place place;
    Tensor AttentionGrads::* from;
  };

  std::string_view op_;
  Place dq_, dk_, dv_;
  std::array<Copied, 4> copied_;  // dbias, dslope, dsink, dscale
};

}  // namespace heed::c
