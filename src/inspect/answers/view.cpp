// One table reads and writes addresses; tests/vectors/addresses.json holds it in both languages.
#include "heed/inspect/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <span>

#include "heed/base/error.h"
#include "inspect/answers/address_filter.h"

namespace heed {
namespace {

constexpr std::size_t kMostHeads = 16;
constexpr std::size_t kNumberDigits = 9;
constexpr std::size_t kPlaceDigits = 4;
constexpr const char* kPlaces = "a head as in L2.H4, L2.H4+H1 or cross.L2.H4";
constexpr std::string_view kViews[] = {
    "look", "grid", "matrix", "why", "anatomy", "words", "heads", "flow",
};
constexpr std::array<std::string_view, 3> kUnits = {"token", "word", "sentence"};
constexpr std::array<std::string_view, 4> kPairs = {"A-A", "A-B", "B-A", "B-B"};
constexpr std::array<std::string_view, 2> kForms = {"raw", "adjusted"};
constexpr std::array<std::string_view, 2> kOn = {"probe", "text"};
constexpr std::array<std::string_view, 4> kScales = {"linear", "sqrt", "log", "rank"};
constexpr std::array<std::string_view, 3> kLines = {"surprise", "entropy", "rank"};
constexpr std::array<std::string_view, 2> kBys = {"rollout", "effect"};

std::string_view take_part(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::optional<std::int64_t> number_of(std::string_view text, std::size_t digits) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  if (text.empty() || text.size() > digits || !std::ranges::all_of(text, is_digit)) return {};
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool read_number(std::optional<std::int64_t>& number, std::string_view text) {
  number = number_of(text, kNumberDigits);
  return number.has_value();
}

using Range = std::pair<std::int64_t, std::int64_t>;

std::optional<Range> range_of(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('-'));
  if (first.size() == text.size()) return {};
  const auto begin = number_of(first, kNumberDigits);
  const auto end = number_of(text.substr(first.size() + 1), kNumberDigits);
  if (!begin || !end || *begin > *end) return {};
  return Range{*begin, *end};
}

std::string range_text(const Range& range) {
  return fmt::format("{}-{}", range.first, range.second);
}

bool read_zoom(ViewAddress& view, std::string_view text) {
  const std::string_view first = text.substr(0, text.find(','));
  const auto queries = range_of(first);
  const auto keys = range_of(text.substr(std::min(text.size(), first.size() + 1)));
  if (!queries || !keys) return false;
  view.zoom = {*queries, *keys};
  return true;
}

bool read_choice(std::string& choice, std::span<const std::string_view> names,
                 std::string_view text) {
  choice = text;
  return std::ranges::find(names, text) != names.end();
}

bool is_score_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";
  return !name.empty() && name.size() <= 32 &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

bool read_scores(ViewAddress& view, std::string_view text) {
  const std::string_view first = text.substr(0, text.find('+'));
  if (first.size() == text.size()) return false;
  const std::string_view second = text.substr(first.size() + 1);
  view.scores = {std::string(first), std::string(second)};
  return is_score_name(first) && is_score_name(second);
}

template <typename Value>
std::string number_text(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// A part behind the heads: how it is read, and written (empty: it is left out).
struct Part {
  std::string_view name;
  const char* expected;
  bool (*read)(ViewAddress& view, std::string_view value);
  std::string (*write)(const ViewAddress& view);
};

// "0.7": at most four digits behind the point.
bool read_fraction(double& number, std::string_view text, double most) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const std::string_view whole = text.substr(0, text.find('.'));
  const std::string_view part = text.substr(std::min(text.size(), whole.size() + 1));
  const bool has_part = whole.size() != text.size();
  if (whole.empty() || whole.size() > 2 || !std::ranges::all_of(whole, is_digit)) return false;
  if (has_part && (part.empty() || part.size() > 4 || !std::ranges::all_of(part, is_digit)))
    return false;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 && number <= most;
}

std::string fraction_text(double number) { return number == 1 ? "" : fmt::format("{}", number); }

const std::array<Part, 20> kParts = {{
    {"i", "a number from 0",
     [](ViewAddress& view, std::string_view value) { return read_number(view.query, value); },
     [](const ViewAddress& view) { return number_text(view.query); }},
    {"j", "a number from 0",
     [](ViewAddress& view, std::string_view value) { return read_number(view.key, value); },
     [](const ViewAddress& view) { return number_text(view.key); }},
    {"range", "the first token and the last, as in 2-9",
     [](ViewAddress& view, std::string_view value) {
       view.range = range_of(value);
       return view.range.has_value();
     },
     [](const ViewAddress& view) { return view.range ? range_text(*view.range) : ""; }},
    {"to", "0 or 1",
     [](ViewAddress& view, std::string_view value) {
       view.to = value == "1";
       return value == "0" || value == "1";
     },
     [](const ViewAddress& view) { return std::string(view.to ? "1" : ""); }},
    {"units", "token, word or sentence",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.units, kUnits, value);
     },
     [](const ViewAddress& view) { return view.units == "token" ? "" : view.units; }},
    {"scale", "linear, sqrt, log or rank",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.scale, kScales, value);
     },
     [](const ViewAddress& view) { return view.scale == "log" ? "" : view.scale; }},
    {"pair", "A-A, A-B, B-A or B-B",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.pair, kPairs, value);
     },
     [](const ViewAddress& view) { return view.pair; }},
    {"scores", "two names, as in previous+distance", read_scores,
     [](const ViewAddress& view) {
       return view.scores == ViewAddress().scores ? ""
                                                  : fmt::format("{}", fmt::join(view.scores, "+"));
     }},
    {"t", "a temperature above 0 and at most 10, as in 0.7",
     [](ViewAddress& view, std::string_view value) {
       return read_fraction(view.temperature, value, 10);
     },
     [](const ViewAddress& view) { return fraction_text(view.temperature); }},
    {"k", "how many words may come, from 1",
     [](ViewAddress& view, std::string_view value) {
       view.top_k = number_of(value, kNumberDigits).value_or(0);
       return view.top_k > 0;
     },
     [](const ViewAddress& view) { return view.top_k == 0 ? "" : fmt::format("{}", view.top_k); }},
    {"p", "a share above 0 and at most 1, as in 0.9",
     [](ViewAddress& view, std::string_view value) { return read_fraction(view.top_p, value, 1); },
     [](const ViewAddress& view) { return fraction_text(view.top_p); }},
    {"line", "surprise, entropy or rank",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.line, kLines, value);
     },
     [](const ViewAddress& view) { return view.line == "surprise" ? "" : view.line; }},
    {"by", "rollout or effect",
     [](ViewAddress& view, std::string_view value) { return read_choice(view.by, kBys, value); },
     [](const ViewAddress& view) { return view.by == "rollout" ? "" : view.by; }},
    {"sort", "a name, as in previous",
     [](ViewAddress& view, std::string_view value) {
       view.sort = value;
       return is_score_name(value);
     },
     [](const ViewAddress& view) { return view.sort == "number" ? "" : view.sort; }},
    {"filter", "conditions with plus signs between, as in previous>0.2+layer+4-8", read_filter,
     filter_text},
    {"zoom", "the queries and the keys in sight, as in 180-200,160-180", read_zoom,
     [](const ViewAddress& view) {
       return view.zoom ? fmt::format("{},{}", range_text(view.zoom->first),
                                      range_text(view.zoom->second))
                        : "";
     }},
    {"x", "a name, as in previous",
     [](ViewAddress& view, std::string_view value) {
       view.x = value;
       return is_score_name(value);
     },
     [](const ViewAddress& view) { return view.x == ViewAddress().x ? "" : view.x; }},
    {"y", "a name, as in previous",
     [](ViewAddress& view, std::string_view value) {
       view.y = value;
       return is_score_name(value);
     },
     [](const ViewAddress& view) { return view.y == ViewAddress().y ? "" : view.y; }},
    {"form", "raw or adjusted",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.form, kForms, value);
     },
     [](const ViewAddress& view) { return view.form == "raw" ? "" : view.form; }},
    {"on", "probe or text",
     [](ViewAddress& view, std::string_view value) { return read_choice(view.on, kOn, value); },
     [](const ViewAddress& view) { return view.on == "probe" ? "" : view.on; }},
}};

// "a, b or c"
template <typename Items, typename Name>
std::string listed(const Items& items, Name name) {
  std::string text;
  for (const auto& item : items) {
    const bool is_last = &item == &*std::prev(std::end(items));
    if (!text.empty()) text += is_last ? " or " : ", ";
    text += name(item);
  }
  return text;
}

[[noreturn]] void refuse(std::string_view found, const std::string& expected) {
  fail({.op = "view",
        .argument = found.empty() ? "address" : "",
        .found = found,
        .expected = expected});
}

// "cross.L2.H4", or "H4": what it does not say is as of the place before it.
std::optional<ViewPlace> read_place(std::string_view part, const ViewPlace* before) {
  ViewPlace place = before != nullptr ? *before : ViewPlace();
  const std::size_t head_at = part.rfind('.') + 1;  // 0 without a dot
  const std::string_view head = part.substr(head_at);
  const auto number =
      head.starts_with('H') ? number_of(head.substr(1), kPlaceDigits) : std::nullopt;
  if (!number || (head_at == 0 && before == nullptr)) return {};
  place.head = static_cast<int>(*number);
  if (head_at == 0) return place;
  std::string_view rest = part.substr(0, head_at - 1);  // "cross.L2"
  if (const std::size_t dot = rest.find('.'); dot != std::string_view::npos) {
    place.stack = stack_of(rest.substr(0, dot));
    if (!place.stack) return {};
    rest.remove_prefix(dot + 1);
  }
  const auto layer = rest.starts_with('L') ? number_of(rest.substr(1), kPlaceDigits) : std::nullopt;
  if (!layer) return {};
  place.layer = static_cast<int>(*layer);
  return place;
}

// "L2.H4+H1+cross.L0.H3"
void read_places(ViewAddress& view, const std::string_view text) {
  view.places.clear();
  ViewPlace before;
  for (std::size_t at = 0; at <= text.size();) {
    const std::string_view part = text.substr(at, text.find('+', at) - at);
    const auto place = read_place(part, at == 0 ? nullptr : &before);
    if (!place) refuse(text, kPlaces);
    before = *place;
    if (std::ranges::find(view.places, before) == view.places.end()) view.places.push_back(before);
    at += part.size() + 1;
  }
  if (view.places.size() > kMostHeads)
    refuse(fmt::format("{} heads", view.places.size()), "at most 16");
}

void read_part(ViewAddress& view, const std::string_view part) {
  const std::string_view name = part.substr(0, part.find('='));
  const auto known = std::ranges::find(kParts, name, &Part::name);
  if (known == kParts.end())
    refuse(part, listed(kParts, [](const Part& each) { return std::string(each.name) + "="; }));
  const std::string_view value = part.substr(std::min(part.size(), name.size() + 1));
  if (!known->read(view, value)) refuse(part, known->expected);
}

std::string format_places(const std::vector<ViewPlace>& places) {
  std::string text;
  const ViewPlace* before = nullptr;
  for (const ViewPlace& place : places) {
    const bool of_stack = before != nullptr && before->stack == place.stack;
    if (before != nullptr) text += '+';
    if (place.stack && !of_stack) text.append(stack_name(*place.stack)).append(1, '.');
    if (!of_stack || before->layer != place.layer) text += fmt::format("L{}.", place.layer);
    text += fmt::format("H{}", place.head);
    before = &place;
  }
  return text;
}

}  // namespace

std::span<const std::string_view> view_names() { return kViews; }

ViewAddress parse_view(std::string_view address) {
  if (address.starts_with('#')) address.remove_prefix(1);
  ViewAddress view;
  view.view = take_part(address, '/');
  if (std::ranges::find(kViews, view.view) == std::end(kViews))
    refuse(view.view, listed(kViews, [](std::string_view name) { return std::string(name); }));
  if (address.empty()) refuse("", kPlaces);
  read_places(view, take_part(address, '/'));
  while (!address.empty()) read_part(view, take_part(address, '/'));
  if (view.key && !view.query) refuse(fmt::format("j={}", *view.key), "i= beside it");
  return view;
}

std::string format_view(const ViewAddress& view) {
  std::string address = view.view + "/" + format_places(view.places);
  for (const Part& part : kParts)
    if (const std::string value = part.write(view); !value.empty())
      address.append(1, '/').append(part.name).append(1, '=').append(value);
  return address;
}

}  // namespace heed
