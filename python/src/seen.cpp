#include "seen.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "attention/api/without_values.h"
#include "computing.h"
#include "heed/observe.h"
#include "problem.h"

namespace heed::python {
namespace {

// From arrays only. Without a log-sum-exp computes it; values are not needed.
void init(Seen* self, const Problem& problem, const nb::object& lse, const nb::object& lse_low) {
  Seen seen;
  seen.problem = problem;
  seen.given_lse = borrow(lse, "lse");
  seen.given_lse_low = borrow(lse_low, "lse_low");
  if (!seen.given_lse.given() && problem.has_lse()) {
    Attended attended = computing([&] { return attention(without_values(problem.args)); });
    seen.lse = std::move(attended.lse);
    seen.lse_low = std::move(attended.lse_low);
  }
  new (self) Seen(std::move(seen));
}

nb::object lse_of(const Seen& seen, bool low) {
  const AttendedConstView attended = seen.attended();
  const ConstView& view = low ? attended.lse_low : attended.lse;
  return view.given() ? exported(Tensor::copy_of(view)) : nb::none();
}

nb::tuple backward(const Seen& seen, const nb::object& dout, const nb::object& dlse,
                   const nb::tuple& of) {
  const Borrowed cotangent = borrow(dout, "dout");
  const Borrowed lse_cotangent = borrow(dlse, "dlse");
  AttentionGradRequest request = gradient_request(of);
  request.dlse = lse_cotangent.view;
  return exported(computing([&] {
                    return attention_backward(seen.problem.args, seen.attended(), cotangent.view,
                                              request);
                  }),
                  of);
}

nb::tuple observed_backward(const Seen& seen, const nb::object& dentropy,
                            const nb::object& dreceived, const nb::tuple& of) {
  const Borrowed entropy = borrow(dentropy, "dentropy");
  const Borrowed received = borrow(dreceived, "dreceived");
  return exported(computing([&] {
                    return observe_backward(seen.problem.args, seen.attended(),
                                            {.dentropy = entropy.view, .dreceived = received.view},
                                            gradient_request(of));
                  }),
                  of);
}

// `selected` are ascending indices of batches, heads, rows and keys.
nb::object select(const Seen& seen, std::array<std::vector<std::int64_t>, 4> selected, int value) {
  auto& [batches, heads, rows, keys] = selected;
  SelectionObserver observer(
      Selection{std::move(batches), std::move(heads), std::move(rows), std::move(keys)},
      static_cast<ObservedValue>(value));
  computing([&] {
    std::array<Observer*, 1> observers = {&observer};
    observe(seen.problem.args, seen.attended(), observers);
  });
  return exported(std::move(observer.values));
}

// Learns the shape of the problem, and reads nothing.
class ShapeObserver : public Observer {
 public:
  std::string_view name() const override { return "shape"; }
  void begin(const ObservedShape& of) override { shape = of; }
  RowSpan rows_needed(std::int64_t /*batch*/, std::int64_t /*head*/) const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& /*rows*/) const override {
    return std::make_unique<State>();
  }
  void tile(State&, const ObservedRows&, const ObservedTile&) const override {}
  void merge(State&, const ObservedRows&) override {}

  ObservedShape shape;
};

nb::tuple shape_of_weights(const Seen& seen) {
  ShapeObserver observer;
  computing([&] {
    std::array<Observer*, 1> observers = {&observer};
    observe(seen.problem.args, seen.attended(), observers);
  });
  const ObservedShape& shape = observer.shape;
  return nb::make_tuple(shape.batch, shape.heads, shape.query_length, shape.key_length);
}

}  // namespace

AttendedConstView Seen::attended() const {
  AttendedConstView view;
  view.out = out.view;
  view.lse = given_lse.given() ? given_lse.view : ConstView(lse);
  view.lse_low = given_lse.given() ? given_lse_low.view : ConstView(lse_low);
  view.out_low = out_low;
  return view;
}

void bind_seen(nb::module_& module) {
  nb::class_<Seen>(module, "Seen")
      .def("__init__", &init, nb::arg("problem"), nb::arg("lse").none(), nb::arg("lse_low").none())
      .def_prop_ro("weights_shape", &shape_of_weights)
      .def("lse", &lse_of, nb::arg("low"))
      .def("backward", &backward, nb::arg("dout").none(), nb::arg("dlse").none(), nb::arg("of"))
      .def("observed_backward", &observed_backward, nb::arg("dentropy").none(),
           nb::arg("dreceived").none(), nb::arg("of"))
      .def("select", &select, nb::arg("selected"), nb::arg("value"));
}

}  // namespace heed::python
