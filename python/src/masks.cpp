#include "masks.h"

#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "computing.h"
#include "heed/mask.h"

namespace heed::python {
namespace {

std::vector<Borrowed> both(const HeldMask& a, const HeldMask& b) {
  std::vector<Borrowed> memory = a.memory;
  memory.insert(memory.end(), b.memory.begin(), b.memory.end());
  return memory;
}

HeldMask held_keep(const nb::object& keep) {
  Borrowed array = borrow(keep, "keep");
  const Mask mask = heed::Mask::keep(array.view);
  return {mask, {std::move(array)}};
}

HeldMask held_blocks(const nb::object& layout, std::int64_t rows, std::int64_t keys) {
  Borrowed array = borrow(layout, "layout");
  const Mask mask = Mask::blocks(array.view, {.rows = rows, .keys = keys});
  return {mask, {std::move(array)}};
}

HeldMask held_segments(const nb::object& query_ids, const nb::object& key_ids) {
  const Borrowed queries = borrow(query_ids, "query_ids");
  if (key_ids.is_none()) return {Mask::segments(queries.view), {}};
  return {Mask::segments(queries.view, borrow(key_ids, "key_ids").view), {}};
}

HeldMask held_edges(const nb::object& row_starts, const nb::object& columns) {
  return {Mask::edges(borrow(row_starts, "row_starts").view, borrow(columns, "columns").view), {}};
}

// Writes the rows [begin, begin + 64) of one head, as bytes.
void fill_rows(const MaskRule& rule, const MaskPlace& place, std::int64_t begin, const View& rows) {
  const std::int64_t keys = rows.dim(1);
  const std::int64_t end = std::min(begin + kMaskRows, rows.dim(0));
  std::vector<std::uint64_t> by_key(static_cast<std::size_t>(keys));
  rule.bits(place, {begin, end, 0, keys}, by_key.data());
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t j = 0; j < keys; ++j)
      rows.data<bool>()[i * keys + j] =
          ((by_key[static_cast<std::size_t>(j)] >> (i - begin)) & 1) != 0;
}

nb::object as_numpy(Tensor tensor) {
  return nb::module_::import_("numpy").attr("asarray")(exported(std::move(tensor)));
}

nb::object to_array(const HeldMask& held, const std::array<std::int64_t, 4>& shape,
                    const nb::object& q_offset, std::int64_t key_offset) {
  const auto [batch, heads, queries, keys] = shape;
  for (const std::int64_t extent : shape)
    if (extent < 0)
      fail({.argument = "shape", .found = extent, .expected = "extents of 0 or more"});
  Tensor visible = Tensor::empty({batch, heads, queries, keys}, DType::kBool);
  std::fill_n(visible.data<bool>(), visible.element_count(), true);
  const MaskRule* const rule = held.mask.rule();
  if (rule == nullptr || visible.element_count() == 0) return as_numpy(std::move(visible));
  const std::int64_t first =
      q_offset.is_none() ? key_offset + keys - queries : nb::cast<std::int64_t>(q_offset);
  held.mask.visible({batch, heads, queries, keys}, {0, 0, first, key_offset}, 0, 0);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t begin = 0; begin < queries; begin += kMaskRows)
        fill_rows(*rule, {b, h, first, key_offset}, begin,
                  visible.view().select(0, b).select(0, h));
  return as_numpy(std::move(visible));
}

}  // namespace

namespace {

using Operand = nb::handle_t<HeldMask>;

// The combined mask, with the function that pickle calls to make it again.
nb::object joined(const char* function, Operand a, Operand b) {
  const auto& left = nb::cast<const HeldMask&>(a);
  const auto& right = nb::cast<const HeldMask&>(b);
  const bool both_see = function[0] == 'a';
  nb::object made = nb::cast(
      HeldMask{both_see ? left.mask & right.mask : left.mask | right.mask, both(left, right)});
  made.attr("_made") =
      nb::make_tuple(nb::module_::import_("operator").attr(function), nb::make_tuple(a, b));
  return made;
}

void bind_class(nb::module_& module) {
  nb::class_<HeldMask>(module, "Mask", nb::dynamic_attr(),
                       "Who may attend to whom: causal(), band(), keep() and the others make one. "
                       "`a & b` is visible where both are, `a | b` where one of them is.")
      .def(
          "__and__", [](Operand a, Operand b) { return joined("and_", a, b); }, nb::is_operator())
      .def(
          "__or__", [](Operand a, Operand b) { return joined("or_", a, b); }, nb::is_operator())
      .def("__reduce__", [](Operand mask) { return mask.attr("_made"); })
      .def("__repr__", [](const HeldMask& held) { return held.mask.describe(); })
      .def("to_array", &to_array, nb::arg("shape"), nb::arg("q_offset") = nb::none(),
           nb::arg("key_offset") = 0,
           "The mask as an array of bool, [B, H, Tq, Tk]. Query i stands at q_offset + i (by "
           "default the last query stands where the last key does), key j at key_offset + j.");
}

}  // namespace

void bind_masks(nb::module_& module) {
  bind_class(module);
  module.def(
      "band",
      [](std::int64_t left, std::int64_t right) {
        return HeldMask{Mask::band({.left = left, .right = right}), {}};
      },
      nb::arg("left"), nb::arg("right"));
  module.def("causal", [] { return HeldMask{Mask::causal(), {}}; });
  module.def(
      "prefix",
      [](const nb::object& lengths) {
        return HeldMask{Mask::prefix(integers(lengths, "lengths")), {}};
      },
      nb::arg("lengths").none());
  module.def("segments", &held_segments, nb::arg("query_ids").none(), nb::arg("key_ids").none());
  module.def("keep", &held_keep, nb::arg("keep").none());
  module.def("blocks", &held_blocks, nb::arg("layout").none(), nb::arg("rows"), nb::arg("keys"));
  module.def("edges", &held_edges, nb::arg("row_starts").none(), nb::arg("columns").none());
  module.def(
      "custom",
      [](nb::callable tile, std::string name) {
        return HeldMask{custom_mask(std::move(tile), std::move(name)), {}};
      },
      nb::arg("tile"), nb::arg("name"));
}

}  // namespace heed::python
