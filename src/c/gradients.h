// Which gradients heed_gradients requests, and where they are written.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "c/problem.h"
#include "heed/attention.h"

namespace heed::c {

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
