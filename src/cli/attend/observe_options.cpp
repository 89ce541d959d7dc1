#include "cli/attend/observe_options.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "base/wording.h"
#include "heed/error.h"

namespace heed::cli {
namespace {

using Answers = Observations::Answers;

// The numbers of `8` or `512x512`.
std::vector<std::int64_t> numbers(std::string_view text, char separator) {
  std::vector<std::int64_t> values;
  while (!text.empty()) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    values.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != separator || text.size() == 1) return {};
    text.remove_prefix(1);
  }
  return values;
}

struct Made {
  std::unique_ptr<Observer> observer;  // null: the setting is invalid
  std::function<Answers()> answers;
};

template <typename Known, typename Read>
Made made(std::unique_ptr<Known> observer, Read read) {
  const Known* pointer = observer.get();
  return {std::move(observer), [pointer, read] { return read(*pointer); }};
}

Made make_top_k(std::string_view, std::string_view setting) {
  const auto k = numbers(setting, 'x');
  if (k.size() != 1 || k[0] < 1) return {};
  return made(std::make_unique<TopKObserver>(k[0]), [](const TopKObserver& found) -> Answers {
    return {{"topk_keys", found.keys.view()}, {"topk_weights", found.weights.view()}};
  });
}

Made make_heatmap(std::string_view, std::string_view setting) {
  constexpr std::pair<std::string_view, Pool> kPools[] = {
      {":max", Pool::kMax}, {":mean", Pool::kMean}, {":sum", Pool::kSum}};
  Pool pool = Pool::kMax;
  for (const auto& [suffix, asked] : kPools)
    if (setting.ends_with(suffix)) {
      pool = asked;
      setting.remove_suffix(suffix.size());
      break;
    }
  const auto size = numbers(setting, 'x');
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return {};
  return made(
      std::make_unique<HeatmapObserver>(size[0], size[1], pool),
      [](const HeatmapObserver& found) -> Answers { return {{"heatmap", found.cells.view()}}; });
}

// One row, or one key, for every head: [B, H, Tk] or [B, H, Tq].
template <Selection::Indices Selection::* axis>
Made make_line(std::string_view, std::string_view setting) {
  const auto index = numbers(setting, 'x');
  if (index.size() != 1 || index[0] < 0) return {};
  constexpr bool is_row = axis == &Selection::rows;
  const std::string stem = fmt::format("{}_{}", is_row ? "row" : "column", index[0]);
  Selection selection;
  selection.*axis = index;
  return made(std::make_unique<SelectionObserver>(std::move(selection)),
              [stem](const SelectionObserver& found) -> Answers {
                const ConstView values = found.values.view();  // empty until it has observed
                return {{stem, values.given() ? values.select(is_row ? 2 : 3, 0) : values}};
              });
}

Made make_offset_profile(std::string_view, std::string_view setting) {
  const auto ends = numbers(setting, ':');
  if (ends.size() != 2 || ends[0] > ends[1]) return {};
  return made(std::make_unique<OffsetProfileObserver>(ends[0], ends[1]),
              [](const OffsetProfileObserver& found) -> Answers {
                return {{"offset_profile", found.mean.view()}};
              });
}

// Without a setting, for one array of the observer's name on the command line.
template <typename Known, Tensor Known::* answer, auto... arguments>
Made make_plain(std::string_view name, std::string_view setting) {
  if (!setting.empty()) return {};
  return made(std::make_unique<Known>(arguments...),
              [stem = std::string(name)](const Known& found) -> Answers {
                return {{stem, (found.*answer).view()}};
              });
}

struct KnownObserver {
  std::string_view name;
  std::string_view form;
  Made (*make)(std::string_view name, std::string_view setting);
};

constexpr KnownObserver kObservers[] = {
    {"entropy", "entropy", make_plain<EntropyObserver, &EntropyObserver::entropy>},
    {"topk", "topk=K", make_top_k},
    {"row_max", "row_max", make_plain<RowMaxObserver, &RowMaxObserver::maximum>},
    {"received", "received", make_plain<ReceivedObserver, &ReceivedObserver::received>},
    {"received_in_all", "received_in_all",
     make_plain<ReceivedObserver, &ReceivedObserver::received, OverHeads::kSum>},
    {"offset_profile", "offset_profile=FIRST:LAST", make_offset_profile},
    {"expected_distance", "expected_distance",
     make_plain<ExpectedDistanceObserver, &ExpectedDistanceObserver::distance>},
    {"sink", "sink", make_plain<SinkObserver, &SinkObserver::share>},
    {"row", "row=I", make_line<&Selection::rows>},
    {"column", "column=J", make_line<&Selection::keys>},
    {"heatmap", "heatmap=HEIGHTxWIDTH[:max|mean|sum]", make_heatmap},
    {"head_mean", "head_mean", make_plain<HeadMeanObserver, &HeadMeanObserver::mean>},
    {"weights", "weights", make_plain<SelectionObserver, &SelectionObserver::values>},
};

std::string forms() {
  return joined(kObservers, ", ", [](const KnownObserver& known) { return known.form; });
}

constexpr std::string_view kByNorm = "value_norm:";

Made make(std::string_view item) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const std::string_view setting =
      equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
  for (const KnownObserver& known : kObservers) {
    if (known.name != name) continue;
    Made answer = known.make(name, setting);
    if (answer.observer == nullptr)
      fail({.argument = "--observe", .found = fmt::format("\"{}\"", item), .expected = known.form});
    return answer;
  }
  fail({.argument = "--observe",
        .found = fmt::format("\"{}\", which is not an observer", item),
        .expected = fmt::format("some of {}, and {}ONE", forms(), kByNorm)});
}

}  // namespace

void Observations::add(std::string_view item) {
  const bool by_norm = item.starts_with(kByNorm);
  Made made = make(by_norm ? item.substr(kByNorm.size()) : item);
  owned_.push_back(std::move(made.observer));
  std::string prefix;
  if (by_norm) {
    owned_.push_back(std::make_unique<ValueNormObserver>(*owned_.back()));
    prefix = "value_norm_";
  }
  pointers_.push_back(owned_.back().get());
  answers_.push_back([prefix, read = std::move(made.answers)] {
    Answers answers = read();
    for (auto& [stem, array] : answers) stem = prefix + stem;
    return answers;
  });
}

Observations::Observations(const std::vector<std::string>& list) {
  std::map<std::string, std::string_view> writer;  // per file
  for (const std::string& item : list) {
    add(item);
    for (const auto& [stem, array] : answers_.back()()) {
      const auto [first, is_new] = writer.emplace(stem, item);
      if (!is_new)
        fail({.argument = "--observe",
              .found =
                  fmt::format("{} and {}, which both answer in {}.npy", first->second, item, stem),
              .expected = "one of them"});
    }
  }
}

Answers Observations::answers() const {
  Answers all;
  for (const auto& read : answers_)
    for (auto& answer : read()) all.push_back(std::move(answer));
  return all;
}

std::string observers_help() {
  return fmt::format(
      "questions about the weights, answered into --observe-out: {}; {} before a name "
      "multiplies weights by |v|",
      forms(), kByNorm);
}

}  // namespace heed::cli
