// Attention whose result PyTorch allocates, in one call from Python: each further one is half a
// microsecond to one, of some fifteen that a short text takes.
#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "arrays.h"
#include "attention.h"
#include "computing.h"
#include "problem.h"

namespace heed::python {
namespace {

// [B, H, Tq, Dv], or [B, Tq, H, Dv].
nb::object attended(const Problem& problem, const nb::object& q, bool by_token) {
  std::optional<Shape> shape = out_shape(problem);
  by_token = by_token && shape && shape->rank() == 4;
  if (by_token) std::swap((*shape)[1], (*shape)[2]);
  const nb::object out = shape ? q.attr("new_empty")(shape_tuple(*shape)) : nb::none();
  Borrowed memory = borrow_output(out, "out");
  if (by_token) memory.view = memory.view.permute({0, 2, 1, 3});
  computing([&] { attention(problem.args, AttendedView{.out = memory.writable_view()}); });
  return out;
}

nb::object attend_tensors(const nb::object& q, const nb::object& k, const nb::object& v,
                          const nb::dict& settings, bool by_token) {
  Problem problem;
  read_arrays(problem, q, k, v);
  read_settings(problem, settings);
  return attended(problem, q, by_token);
}

// What is the same in many calls: the layers of a model share a mask.
struct PreparedAttention {
  using Length = std::optional<std::int64_t>;
  Problem shared;
  Length queries, keys;  // none: any

  bool fits(const AttentionArgs& args) const {
    const ConstView &q = args.q, &k = args.keys.k;
    return q.rank() == 4 && k.rank() == 4 && q.dim(0) == k.dim(0) &&
           q.dim(2) == queries.value_or(q.dim(2)) && k.dim(2) == keys.value_or(k.dim(2));
  }
};

// None where it was prepared for other shapes.
nb::object attend_prepared(const PreparedAttention& prepared, const nb::object& q,
                           const nb::object& k, const nb::object& v, std::optional<double> scale) {
  Problem problem = prepared.shared;
  read_arrays(problem, q, k, v);
  if (!prepared.fits(problem.args)) return nb::none();
  if (scale) problem.args.scores.scale = {*scale};
  return attended(problem, q, /*by_token=*/true);
}

}  // namespace

void bind_attention_of_tensors(nb::module_& module) {
  module.def("attend_tensors", &attend_tensors, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("v").none(), nb::arg("settings"), nb::arg("by_token"));
  nb::class_<PreparedAttention>(module, "PreparedAttention")
      .def(
          "__init__",
          [](PreparedAttention* self, const nb::dict& settings, PreparedAttention::Length queries,
             PreparedAttention::Length keys) {
            Problem shared;
            read_settings(shared, settings);
            new (self) PreparedAttention{std::move(shared), queries, keys};
          },
          nb::arg("settings"), nb::arg("queries").none(), nb::arg("keys").none())
      .def("__call__", &attend_prepared, nb::arg("q").none(), nb::arg("k").none(),
           nb::arg("v").none(), nb::arg("scale").none(),
           "[B, Tq, H, Dv]; None where it was prepared for other shapes.");
}

}  // namespace heed::python
