// One attention problem: heed's arguments, and the arrays that they refer to.
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

  /// Keeps the memory and returns its view.
  ConstView hold(Borrowed array);
  bool has_lse() const { return args.scores.normaliser == Normaliser::kSoftmax; }
};

/// The keyword arguments of heed.attention: a tuple of all, or a dict of the given ones. None means
/// the default.
void read_settings(Problem& problem, nb::handle settings);
void read_arrays(Problem& problem, const nb::object& q, const nb::object& k, const nb::object& v,
                 Hold hold = Hold::kMemory);

/// The shape for `out`; empty if the ranks of q and v are wrong, which the operator reports.
std::optional<Shape> out_shape(const Problem& problem);

void bind_problem(nb::module_& module);

/// The problem of one sequence in `args`' batch. Copies nothing: its mask uses that of `args`.
AttentionArgs one_sequence(const AttentionArgs& args, std::int64_t sequence);

/// The same for [B, H, Tq]; empty if not given.
ConstView one_sequence(const ConstView& array, std::int64_t sequence);

/// `of` names arguments of attention: "q", "k", "v", "bias", "sink", "alibi", "scale".
AttentionGradRequest gradient_request(const nanobind::tuple& of);

/// The gradients, in the order of `of`.
nanobind::tuple exported(AttentionGrads gradients, const nanobind::tuple& of);

}  // namespace heed::python
