// Hopfield networks and attention on graphs.
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bind.h"
#include "computing.h"
#include "heed/operators.h"

namespace heed::python {
namespace {

Tensor as_tensor(const std::vector<double>& numbers) {
  return Tensor::copy_of(ConstView(numbers.data(), DType::kF64, Shape{std::ssize(numbers)}));
}

nb::tuple recall(const nb::object& couplings, const nb::object& state, std::int64_t sweeps,
                 std::uint64_t seed) {
  const Borrowed w = borrow(couplings, "couplings");
  const Borrowed s = borrow(state, "state");
  HopfieldRecall found = computing([&] { return hopfield_recall(w.view, s.view, sweeps, seed); });
  return nb::make_tuple(exported(std::move(found.state)), exported(as_tensor(found.energies)),
                        found.settled);
}

nb::tuple retrieve_from(const nb::object& patterns, const nb::object& state, double beta,
                        std::int64_t steps, double tolerance) {
  const Borrowed x = borrow(patterns, "patterns");
  const Borrowed s = borrow(state, "state");
  Retrieved found = computing([&] {
    return retrieve({.patterns = x.view,
                     .state = s.view,
                     .beta = beta,
                     .steps = steps,
                     .tolerance = tolerance});
  });
  return nb::make_tuple(exported(std::move(found.state)), exported(std::move(found.energies)),
                        found.steps_taken, found.settled);
}

nb::object pass_messages(const nb::object& x, const nb::object& row_starts,
                         const nb::object& columns, const nb::object& scale, const nb::object& dy) {
  const Borrowed nodes = borrow(x, "x"), cotangent = borrow(dy, "dy");
  const Borrowed starts = borrow(row_starts, "row_starts"), ends = borrow(columns, "columns");
  const MessagePassingArgs args = {.x = nodes.view,
                                   .graph = {.row_starts = starts.view, .columns = ends.view},
                                   .scale = numbers(scale, "scale")};
  return exported(computing([&] {
    return cotangent.given() ? message_passing_backward(args, cotangent.view)
                             : message_passing(args);
  }));
}

}  // namespace

void bind_networks(nb::module_& module) {
  module.def(
      "hebbian_couplings",
      [](const nb::object& patterns) {
        const Borrowed x = borrow(patterns, "patterns");
        return exported(computing([&] { return hebbian_couplings(x.view); }));
      },
      nb::arg("patterns").none());
  module.def(
      "hopfield_energies",
      [](const nb::object& couplings, const nb::object& states) {
        const Borrowed w = borrow(couplings, "couplings"), s = borrow(states, "states");
        return exported(as_tensor(computing([&] { return hopfield_energies(w.view, s.view); })));
      },
      nb::arg("couplings").none(), nb::arg("states").none());
  module.def("hopfield_recall", &recall, nb::arg("couplings").none(), nb::arg("state").none(),
             nb::arg("sweeps"), nb::arg("seed"));
  module.def("retrieve", &retrieve_from, nb::arg("patterns").none(), nb::arg("state").none(),
             nb::arg("beta"), nb::arg("steps"), nb::arg("tolerance"));
  module.def("message_passing", &pass_messages, nb::arg("x").none(), nb::arg("row_starts").none(),
             nb::arg("columns").none(), nb::arg("scale").none(), nb::arg("dy").none());
}

}  // namespace heed::python
