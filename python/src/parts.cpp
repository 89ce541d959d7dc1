// Attention over keys in parts, and keys of 8 bit.
#include <utility>

#include "arrays.h"
#include "computing.h"
#include "heed/ops/merge.h"
#include "heed/ops/quantise.h"
#include "operators.h"

namespace heed::python {
namespace {

nb::object given(Tensor tensor) {
  return tensor.given() ? exported(std::move(tensor)) : nb::none();
}

nb::tuple merge_two(const nb::tuple& a, const nb::tuple& b, const nb::object& sink) {
  const Borrowed out_a = borrow(a[0], "out_a"), lse_a = borrow(a[1], "lse_a");
  const Borrowed low_a = borrow(a[2], "lse_low_a"), logits = borrow(sink, "sink");
  const Borrowed out_b = borrow(b[0], "out_b"), lse_b = borrow(b[1], "lse_b");
  const Borrowed low_b = borrow(b[2], "lse_low_b");
  const MergeArgs args = {.a = {.out = out_a.view, .lse = lse_a.view, .lse_low = low_a.view},
                          .b = {.out = out_b.view, .lse = lse_b.view, .lse_low = low_b.view},
                          .sink = logits.view};
  Attended merged = computing([&] { return merge(args); });
  return nb::make_tuple(exported(std::move(merged.out)), given(std::move(merged.lse)),
                        given(std::move(merged.lse_low)));
}

}  // namespace

void bind_parts(nb::module_& module) {
  module.def("merge", &merge_two, nb::arg("a"), nb::arg("b"), nb::arg("sink").none());
  module.def(
      "quantise",
      [](const nb::object& x) {
        const Borrowed array = borrow(x, "x");
        Quantised made = computing([&] { return quantise(array.view); });
        return nb::make_tuple(exported(std::move(made.values)), exported(std::move(made.scales)));
      },
      nb::arg("x").none());
  module.def(
      "dequantise",
      [](const nb::object& values, const nb::object& scales) {
        const Borrowed i8 = borrow(values, "values"), f32 = borrow(scales, "scales");
        return exported(computing([&] { return dequantise(i8.view, f32.view); }));
      },
      nb::arg("values").none(), nb::arg("scales").none());
}

}  // namespace heed::python
