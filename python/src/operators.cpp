// RoPE, norms and softmax, each with its gradient.
#include "heed/operators.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "arrays.h"
#include "bind.h"
#include "computing.h"
#include "heed/error.h"

namespace heed::python {
namespace {

/// The memory that RopeArgs refers to.
struct HeldRope {
  RopeArgs args;
  Borrowed x, positions, cosines, sines;
};

RopePairs pairs_of(const std::string& name) {
  if (name == "halves") return RopePairs::kHalves;
  if (name == "neighbours") return RopePairs::kNeighbours;
  fail("rope", "pairs", fmt::format("\"{}\"", name), "\"halves\" or \"neighbours\"");
}

HeldRope held_rope(const nb::object& x, std::int64_t rotary_dim, const std::string& pairs,
                   double base, const nb::object& offset, const nb::object& positions,
                   const nb::object& cosines, const nb::object& sines) {
  HeldRope held = {.args = {},
                   .x = borrow(x, "x"),
                   .positions = borrow(positions, "positions"),
                   .cosines = borrow(cosines, "cosines"),
                   .sines = borrow(sines, "sines")};
  held.args = {.x = held.x.view,
               .rotary_dim = rotary_dim,
               .pairs = pairs_of(pairs),
               .base = base,
               .offset = integers(offset, "offset"),
               .positions = held.positions.view,
               .cosines = held.cosines.view,
               .sines = held.sines.view};
  return held;
}

void bind_rope(nb::module_& module) {
  module.def(
      "rope",
      [](const nb::object& x, std::int64_t rotary_dim, const std::string& pairs, double base,
         const nb::object& offset, const nb::object& positions, const nb::object& cosines,
         const nb::object& sines, const nb::object& dy) {
        const HeldRope held =
            held_rope(x, rotary_dim, pairs, base, offset, positions, cosines, sines);
        const Borrowed cotangent = borrow(dy, "dy");
        return exported(computing([&] {
          return cotangent.given() ? rope_backward(held.args, cotangent.view) : rope(held.args);
        }));
      },
      nb::arg("x").none(), nb::arg("rotary_dim"), nb::arg("pairs"), nb::arg("base"),
      nb::arg("offset").none(), nb::arg("positions").none(), nb::arg("cosines").none(),
      nb::arg("sines").none(), nb::arg("dy").none());
}

// Gradients of 16-bit weights are f32 sums.
Tensor zeros_like(const ConstView& weight) {
  return Tensor::zeros(weight.shape(),
                       size_bytes(weight.dtype()) == 2 ? DType::kF32 : weight.dtype());
}

void bind_layer_norm(nb::module_& module) {
  module.def(
      "layer_norm",
      [](const nb::object& x, const nb::object& weight, const nb::object& bias, double epsilon) {
        const Borrowed rows = borrow(x, "x"), w = borrow(weight, "weight"),
                       b = borrow(bias, "bias");
        return exported(
            computing([&] { return layer_norm({rows.view, w.view, b.view, epsilon}); }));
      },
      nb::arg("x").none(), nb::arg("weight").none(), nb::arg("bias").none(), nb::arg("epsilon"));
  module.def(
      "layer_norm_backward",
      [](const nb::object& x, const nb::object& weight, const nb::object& bias, double epsilon,
         const nb::object& dy) {
        const Borrowed rows = borrow(x, "x"), w = borrow(weight, "weight"),
                       b = borrow(bias, "bias");
        const Borrowed cotangent = borrow(dy, "dy");
        Tensor dweight = zeros_like(w.view);
        Tensor dbias = zeros_like(w.view);
        Tensor dx = computing([&] {
          return layer_norm_backward({rows.view, w.view, b.view, epsilon}, cotangent.view,
                                     {dweight, dbias});
        });
        return nb::make_tuple(exported(std::move(dx)), exported(std::move(dweight)),
                              exported(std::move(dbias)));
      },
      nb::arg("x").none(), nb::arg("weight").none(), nb::arg("bias").none(), nb::arg("epsilon"),
      nb::arg("dy").none());
}

void bind_rms_norm(nb::module_& module) {
  module.def(
      "rms_norm",
      [](const nb::object& x, const nb::object& weight, double epsilon) {
        const Borrowed rows = borrow(x, "x"), w = borrow(weight, "weight");
        return exported(computing([&] { return rms_norm({rows.view, w.view, epsilon}); }));
      },
      nb::arg("x").none(), nb::arg("weight").none(), nb::arg("epsilon"));
  module.def(
      "rms_norm_backward",
      [](const nb::object& x, const nb::object& weight, double epsilon, const nb::object& dy) {
        const Borrowed rows = borrow(x, "x"), w = borrow(weight, "weight"),
                       cotangent = borrow(dy, "dy");
        Tensor dweight = zeros_like(w.view);
        Tensor dx = computing([&] {
          return rms_norm_backward({rows.view, w.view, epsilon}, cotangent.view, dweight);
        });
        return nb::make_tuple(exported(std::move(dx)), exported(std::move(dweight)));
      },
      nb::arg("x").none(), nb::arg("weight").none(), nb::arg("epsilon"), nb::arg("dy").none());
}

void bind_softmax(nb::module_& module) {
  module.def(
      "softmax",
      [](const nb::object& x, int axis) {
        const Borrowed array = borrow(x, "x");
        return exported(computing([&] { return softmax(array.view, axis); }));
      },
      nb::arg("x").none(), nb::arg("axis"));
  module.def(
      "softmax_backward",
      [](const nb::object& y, const nb::object& dy, int axis) {
        const Borrowed array = borrow(y, "y"), cotangent = borrow(dy, "dy");
        return exported(
            computing([&] { return softmax_backward(array.view, cotangent.view, axis); }));
      },
      nb::arg("y").none(), nb::arg("dy").none(), nb::arg("axis"));
}

}  // namespace

void bind_operators(nb::module_& module) {
  bind_rope(module);
  bind_layer_norm(module);
  bind_rms_norm(module);
  bind_softmax(module);
  bind_linear_attention(module);
  bind_networks(module);
  bind_parts(module);
}

}  // namespace heed::python
