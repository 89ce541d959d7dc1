// Attention over keys in parts, and 8-bit keys.
#include <array>
#include <cstddef>
#include <utility>

#include "arrays.h"
#include "bind.h"
#include "computing.h"
#include "heed/attention.h"

namespace heed::python {
namespace {

nb::object given(Tensor tensor) {
  return tensor.given() ? exported(std::move(tensor)) : nb::none();
}

/// The memory of MergeArgs: out, lse and lse_low of each part.
struct HeldParts {
  MergeArgs args;
  std::array<Borrowed, 7> memory;
};

HeldParts held_parts(const nb::tuple& a, const nb::tuple& b, const nb::object& sink) {
  HeldParts held;
  constexpr std::array kNames = {"out_a", "lse_a", "lse_low_a", "out_b", "lse_b", "lse_low_b"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    held.memory[i] = borrow(i < 3 ? a[i] : b[i - 3], kNames[i]);
  held.memory[6] = borrow(sink, "sink");
  const auto view = [&](std::size_t i) { return held.memory[i].view; };
  held.args = {.a = {.out = view(0), .lse = view(1), .lse_low = view(2)},
               .b = {.out = view(3), .lse = view(4), .lse_low = view(5)},
               .sink = view(6)};
  return held;
}

nb::tuple merge_two(const nb::tuple& a, const nb::tuple& b, const nb::object& sink) {
  const HeldParts held = held_parts(a, b, sink);
  Attended merged = computing([&] { return merge(held.args); });
  return nb::make_tuple(exported(std::move(merged.out)), given(std::move(merged.lse)),
                        given(std::move(merged.lse_low)));
}

// Returns dout_a, dlse_a, dout_b, dlse_b and dsink.
nb::tuple merge_gradients(const nb::tuple& a, const nb::tuple& b, const nb::object& sink,
                          const nb::tuple& merged, const nb::tuple& cotangents) {
  const HeldParts held = held_parts(a, b, sink);
  const Borrowed out = borrow(merged[0], "out"), lse = borrow(merged[1], "lse");
  const Borrowed low = borrow(merged[2], "lse_low");
  const Borrowed dout = borrow(cotangents[0], "dout"), dlse = borrow(cotangents[1], "dlse");
  MergeGrads grads = computing([&] {
    return merge_backward(held.args, {.out = out.view, .lse = lse.view, .lse_low = low.view},
                          dout.view, dlse.view);
  });
  return nb::make_tuple(exported(std::move(grads.dout_a)), given(std::move(grads.dlse_a)),
                        exported(std::move(grads.dout_b)), given(std::move(grads.dlse_b)),
                        given(std::move(grads.dsink)));
}

}  // namespace

void bind_parts(nb::module_& module) {
  module.def("merge", &merge_two, nb::arg("a"), nb::arg("b"), nb::arg("sink").none());
  module.def("merge_backward", &merge_gradients, nb::arg("a"), nb::arg("b"), nb::arg("sink").none(),
             nb::arg("merged"), nb::arg("cotangents"));
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
