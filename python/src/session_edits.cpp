// Edits of a session's attention, as Python gives them.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "heed/session.h"
#include "session.h"

namespace heed::python {
namespace {

using Positions = std::optional<std::vector<std::int64_t>>;  // none: all of them
using PlaceOfPython = std::tuple<std::string, int, int>;     // stack, layer, head

// One edit of several heads; its name says which of the values count.
struct GivenEdit {
  std::string name;
  std::vector<Place> places;
  Positions queries;
  Positions keys;
  double value = 0;
  HeldMask mask;
  SessionHandle run;
};

void init_edit(GivenEdit* self, std::string name, const std::vector<PlaceOfPython>& places,
               Positions queries, Positions keys, double value, const HeldMask* mask,
               SessionHandle run) {
  new (self) GivenEdit{.name = std::move(name),
                       .places = {},
                       .queries = std::move(queries),
                       .keys = std::move(keys),
                       .value = value,
                       .mask = mask != nullptr ? *mask : HeldMask{},
                       .run = std::move(run)};
  for (const auto& [stack, layer, head] : places)
    self->places.push_back({stack_of(stack).value(), layer, head});
}

bool has(const Positions& sorted, std::int64_t at) {
  return !sorted || std::ranges::binary_search(*sorted, at);
}

bool has_some(const Positions& sorted, std::int64_t begin, std::int64_t end) {
  if (!sorted) return true;
  const auto first = std::ranges::lower_bound(*sorted, begin);
  return first != sorted->end() && *first < end;
}

// Hides the keys from the queries.
Mask without_pairs(const Positions& queries, const Positions& keys) {
  return Mask::custom(
      {.visible = [=](const MaskPlace&, std::int64_t row,
                      std::int64_t key) { return !has(queries, row) || !has(keys, key); },
       .tile =
           [=](const MaskPlace&, const MaskTile& tile) {
             const bool hides = has_some(queries, tile.row_begin, tile.row_end) &&
                                has_some(keys, tile.key_begin, tile.key_end);
             return hides ? TileClass::kPartial : TileClass::kFull;
           },
       .name = "removed edges"});
}

// Tells masks of the process apart.
std::string new_name() {
  static std::atomic<std::int64_t> count = 0;
  return fmt::format("mask{}", ++count);
}

OtherRun other_run(const SessionHandle& run) {
  return {.name = fmt::format("run{}", fmt::ptr(run.get())), .session = {run, &run->session}};
}

// -1 stands for every query.
std::vector<std::int64_t> queries_of(const GivenEdit& given) {
  return given.queries.value_or(std::vector<std::int64_t>{-1});
}

void add_steering(Edits& edits, const GivenEdit& given, const Place& place) {
  for (const std::int64_t query : queries_of(given))
    for (const std::int64_t key : given.keys.value())
      edits.steer.push_back({place, query, key, given.value});
}

void add_patches(Edits& edits, const GivenEdit& given, const Place& place) {
  for (const std::int64_t query : queries_of(given))
    edits.patch.push_back({place, query, other_run(given.run)});
}

Edits edits_of(const GivenEdit& given) {
  Edits edits;
  const bool removes = given.name == "remove";
  const std::string name = removes || given.name == "mask" ? new_name() : "";
  const Mask mask = removes ? without_pairs(given.queries, given.keys) : given.mask.mask;
  for (const Place& place : given.places) {
    if (given.name == "ablate") edits.ablate.push_back(place);
    if (given.name == "temperature") edits.temperature.push_back({place, given.value});
    if (given.name == "steer") add_steering(edits, given, place);
    if (!name.empty()) edits.masked.push_back({place, name, mask});
    if (given.name == "freeze") edits.freeze.push_back({place, other_run(given.run)});
    if (given.name == "patch") add_patches(edits, given, place);
  }
  return edits;
}

SessionHandle edited(const SessionHandle& base, const std::vector<const GivenEdit*>& given) {
  Edits edits;
  std::vector<Problem> masks;
  for (const GivenEdit* const edit : given) {
    edits = combined(edits, edits_of(*edit));
    if (!edit->mask.memory.empty()) masks.push_back({.args = {}, .mask = edit->mask, .memory = {}});
  }
  return edited_session(base, edits, std::move(masks));
}

}  // namespace

void bind_session_edits(nb::module_& module) {
  nb::class_<GivenEdit>(module, "Edit")
      .def("__init__", &init_edit, nb::arg("name"), nb::arg("places"), nb::arg("queries").none(),
           nb::arg("keys").none(), nb::arg("value"), nb::arg("mask").none(), nb::arg("run").none());
  module.def("edited", &edited, nb::arg("session"), nb::arg("edits"));
}

}  // namespace heed::python
