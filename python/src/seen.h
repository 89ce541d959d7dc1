// What can be asked about an attention that was computed: nothing of T x T is kept.
#pragma once

#include <nanobind/nanobind.h>

#include "heed/attention.h"
#include "problem.h"

namespace heed::python {

/// A problem and its log-sum-exp, from which every weight can be computed again.
struct Seen {
  Problem problem;
  Tensor lse;  // empty where `given` has it, and without a softmax
  Tensor lse_low;
  Tensor out_low;
  Borrowed given_lse;  // of arrays that somebody else computed
  Borrowed given_lse_low;
  Borrowed out;

  AttendedConstView attended() const;
};

void bind_seen(nb::module_& module);
void bind_observers(nb::module_& module);

}  // namespace heed::python
