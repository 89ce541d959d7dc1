// Questions about an attention that was computed, without storing T x T.
#pragma once

#include <nanobind/nanobind.h>

#include "heed/attention.h"
#include "problem.h"

namespace heed::python {

/// A problem and its log-sum-exp, from which every weight can be recomputed.
struct Seen {
  Problem problem;
  Tensor lse;  // empty if `given` has it, or without a softmax
  Tensor lse_low;
  Tensor out_low;
  Borrowed given_lse;  // for arrays computed elsewhere
  Borrowed given_lse_low;
  Borrowed out;

  AttendedConstView attended() const;
};

void bind_seen(nb::module_& module);
void bind_observers(nb::module_& module);

}  // namespace heed::python
