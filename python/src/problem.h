// One attention problem: heed's arguments, and the arrays that they look at.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "arrays.h"
#include "heed/ops/attention.h"
#include "masks.h"

namespace heed::python {

struct Problem {
  AttentionArgs args;
  HeldMask mask;
  std::vector<Borrowed> memory;

  /// Keeps the memory and gives the view.
  ConstView hold(Borrowed array);
  bool has_lse() const { return args.scores.normaliser == Normaliser::kSoftmax; }
};

void bind_problem(nb::module_& module);

}  // namespace heed::python
