// One attention problem: heed's arguments, and the arrays that they look at.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "heed/attention.h"
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

/// The keyword arguments of heed.attention: a tuple of all of them, or a dict of those that are
/// given. None stands for the default.
void read_settings(Problem& problem, nb::handle settings);
void read_arrays(Problem& problem, const nb::object& q, const nb::object& k, const nb::object& v,
                 Hold hold = Hold::kMemory);

/// What to allocate for `out`; none where q and v have no such ranks, which the operator refuses.
std::optional<Shape> out_shape(const Problem& problem);

void bind_problem(nb::module_& module);

/// The problem of one sequence of `args`' batch. Nothing is copied: its mask asks that of `args`.
AttentionArgs one_sequence(const AttentionArgs& args, std::int64_t sequence);

/// [B, H, Tq] of the same; none where there is none.
ConstView one_sequence(const ConstView& array, std::int64_t sequence);

/// `of` names arguments of attention: "q", "k", "v", "bias", "sink", "alibi", "scale".
AttentionGradRequest gradient_request(const nanobind::tuple& of);

/// The gradients, in the order of `of`.
nanobind::tuple exported(AttentionGrads gradients, const nanobind::tuple& of);

}  // namespace heed::python
