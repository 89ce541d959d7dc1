// Observers by name, several in one sweep.
#include <fmt/format.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "computing.h"
#include "heed/observe.h"
#include "seen.h"
#include "settings.h"

namespace heed::python {
namespace {

/// An observer, and how to export its answers.
struct Asked {
  std::unique_ptr<Observer> observer;
  std::unique_ptr<Observer> weighted_by_value;  // if set, this one observes
  std::function<nb::object()> answer;

  Observer* observing() const {
    return weighted_by_value != nullptr ? weighted_by_value.get() : observer.get();
  }
};

template <typename Kind>
Asked asking(std::unique_ptr<Kind> observer, Tensor Kind::* answer) {
  Kind& kind = *observer;
  return {std::move(observer), nullptr,
          [&kind, answer] { return exported(std::move(kind.*answer)); }};
}

template <typename Kind>
Asked asking(std::unique_ptr<Kind> observer, Tensor Kind::* first, Tensor Kind::* second) {
  Kind& kind = *observer;
  return {std::move(observer), nullptr, [&kind, first, second]() -> nb::object {
            return nb::make_tuple(exported(std::move(kind.*first)),
                                  exported(std::move(kind.*second)));
          }};
}

std::int64_t whole(const nb::dict& settings, const char* name) {
  return setting<std::int64_t>(settings, name, "a whole number");
}

bool flag(const nb::dict& settings, const char* name) {
  return setting<bool>(settings, name, "True or False");
}

// [begin, end) of batches, heads, queries and keys.
Region region_of(const nb::dict& settings) {
  using Range = std::pair<std::int64_t, std::int64_t>;
  const auto heads = setting<Range>(settings, "heads", "a pair: begin and end");
  const auto rows = setting<Range>(settings, "rows", "a pair: begin and end");
  const auto keys = setting<Range>(settings, "keys", "a pair: begin and end");
  const auto batches = setting<Range>(settings, "batches", "a pair: begin and end");
  return {heads.first, heads.second, rows.first,    rows.second,
          keys.first,  keys.second,  batches.first, batches.second};
}

Asked ask_heatmap(const nb::dict& settings) {
  constexpr std::array kPools = {"max", "mean", "sum"};
  const auto name = setting<std::string>(settings, "pool", "a str");
  const auto* const pool = std::ranges::find(kPools, name);
  if (pool == kPools.end())
    fail("heatmap", "pool", fmt::format("\"{}\"", name), "one of \"max\", \"mean\", \"sum\"");
  return asking(std::make_unique<HeatmapObserver>(
                    whole(settings, "height"), whole(settings, "width"),
                    static_cast<Pool>(pool - kPools.begin()), region_of(settings)),
                &HeatmapObserver::cells);
}

Asked ask_mass(const nb::dict& settings) {
  const std::vector<std::int64_t> given = integers(settings["classes"], "classes");
  const std::vector<std::int32_t> classes(given.begin(), given.end());
  return asking(std::make_unique<MassObserver>(classes, whole(settings, "count")),
                &MassObserver::mass);
}

Asked ask_received(const nb::dict& settings) {
  const bool all = flag(settings, "all_heads");
  return asking(std::make_unique<ReceivedObserver>(all ? OverHeads::kSum : OverHeads::kEach),
                &ReceivedObserver::received);
}

Asked ask_offset_profile(const nb::dict& settings) {
  return asking(
      std::make_unique<OffsetProfileObserver>(whole(settings, "first"), whole(settings, "last")),
      &OffsetProfileObserver::mean, &OffsetProfileObserver::pairs);
}

struct Kind {
  const char* name;
  Asked (*ask)(const nb::dict& settings);
};

constexpr Kind kKinds[] = {
    {"entropy",
     [](const nb::dict&) {
       return asking(std::make_unique<EntropyObserver>(), &EntropyObserver::entropy);
     }},
    {"row_max",
     [](const nb::dict&) {
       return asking(std::make_unique<RowMaxObserver>(), &RowMaxObserver::maximum);
     }},
    {"expected_distance",
     [](const nb::dict&) {
       return asking(std::make_unique<ExpectedDistanceObserver>(),
                     &ExpectedDistanceObserver::distance);
     }},
    {"sink_share",
     [](const nb::dict&) {
       return asking(std::make_unique<SinkObserver>(), &SinkObserver::share);
     }},
    {"top_k",
     [](const nb::dict& settings) {
       return asking(std::make_unique<TopKObserver>(whole(settings, "k")), &TopKObserver::weights,
                     &TopKObserver::keys);
     }},
    {"head_mean",
     [](const nb::dict& settings) {
       return asking(std::make_unique<HeadMeanObserver>(region_of(settings)),
                     &HeadMeanObserver::mean);
     }},
    {"mass", &ask_mass},
    {"received", &ask_received},
    {"offset_profile", &ask_offset_profile},
    {"heatmap", &ask_heatmap}};

Asked ask(const std::string& name, const nb::dict& settings) {
  const auto* const kind =
      std::ranges::find_if(kKinds, [&](const Kind& each) { return name == each.name; });
  if (kind == std::ranges::end(kKinds)) {
    std::string known;
    for (const Kind& each : kKinds)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
    fail("observe", "name", fmt::format("\"{}\"", name), "one of " + known);
  }
  Asked asked = kind->ask(settings);
  if (flag(settings, "value_norm"))
    asked.weighted_by_value = std::make_unique<ValueNormObserver>(*asked.observer);
  return asked;
}

nb::list observe_all(const Seen& seen,
                     const std::vector<std::pair<std::string, nb::dict>>& questions) {
  std::vector<Asked> asked;
  std::vector<Observer*> observers;
  for (const auto& [name, settings] : questions) {
    asked.push_back(ask(name, settings));
    observers.push_back(asked.back().observing());
  }
  computing([&] { observe(seen.problem.args, seen.attended(), observers); });
  nb::list answers;
  for (const Asked& each : asked) answers.append(each.answer());
  return answers;
}

}  // namespace

void bind_observers(nb::module_& module) {
  module.def("observe", &observe_all, nb::arg("seen"), nb::arg("questions"));
}

}  // namespace heed::python
