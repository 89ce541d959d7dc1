#include "masks.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "computing.h"
#include "custom_mask.h"
#include "heed/masks/band.h"
#include "heed/masks/blocks.h"
#include "heed/masks/edges.h"
#include "heed/masks/keep.h"
#include "heed/masks/prefix.h"
#include "heed/masks/segments.h"

namespace heed::python {
namespace {

std::vector<Borrowed> both(const HeldMask& a, const HeldMask& b) {
  std::vector<Borrowed> memory = a.memory;
  memory.insert(memory.end(), b.memory.begin(), b.memory.end());
  return memory;
}

HeldMask held_keep(const nb::object& keep) {
  Borrowed array = borrow(keep, "keep");
  const Mask mask = heed::keep(array.view);
  return {mask, {std::move(array)}};
}

HeldMask held_blocks(const nb::object& layout, std::int64_t rows, std::int64_t keys) {
  Borrowed array = borrow(layout, "layout");
  const Mask mask = blocks(array.view, {.rows = rows, .keys = keys});
  return {mask, {std::move(array)}};
}

HeldMask held_segments(const nb::object& query_ids, const nb::object& key_ids) {
  const Borrowed queries = borrow(query_ids, "query_ids");
  if (key_ids.is_none()) return {segments(queries.view), {}};
  return {segments(queries.view, borrow(key_ids, "key_ids").view), {}};
}

HeldMask held_edges(const nb::object& row_starts, const nb::object& columns) {
  return {edges(borrow(row_starts, "row_starts").view, borrow(columns, "columns").view), {}};
}

// The truth of one pair.
bool visible(const HeldMask& held, std::int64_t batch, std::int64_t head, std::int64_t query,
             std::int64_t key, std::int64_t q_offset, std::int64_t key_offset) {
  const MaskRule* const rule = held.mask.rule();
  return rule == nullptr ||
         rule->visible(
             {.batch = batch, .head = head, .q_offset = q_offset, .key_offset = key_offset}, query,
             key);
}

}  // namespace

void bind_masks(nb::module_& module) {
  nb::class_<HeldMask>(module, "Mask",
                       "Who may attend to whom: causal(), band(), keep() and the others make one. "
                       "`a & b` is visible where both are, `a | b` where one of them is.")
      .def(
          "__and__",
          [](const HeldMask& a, const HeldMask& b) {
            return HeldMask{a.mask & b.mask, both(a, b)};
          },
          nb::is_operator())
      .def(
          "__or__",
          [](const HeldMask& a, const HeldMask& b) {
            return HeldMask{a.mask | b.mask, both(a, b)};
          },
          nb::is_operator())
      .def("__repr__", [](const HeldMask& held) { return held.mask.describe(); })
      .def("visible", &visible, nb::arg("batch"), nb::arg("head"), nb::arg("query"), nb::arg("key"),
           nb::arg("q_offset") = 0, nb::arg("key_offset") = 0,
           "Whether that query may attend to that key; query i stands at q_offset + i, key j at "
           "key_offset + j.");
  module.def(
      "band",
      [](std::int64_t left, std::int64_t right) {
        return HeldMask{band({.left = left, .right = right}), {}};
      },
      nb::arg("left"), nb::arg("right"));
  module.def("causal", [] { return HeldMask{causal(), {}}; });
  module.def(
      "prefix",
      [](const nb::object& lengths) { return HeldMask{prefix(integers(lengths, "lengths")), {}}; },
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
