// One table reads and writes addresses; tests/vectors/addresses.json holds it in both languages.
#include "heed/inspect/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <span>

#include "heed/base/error.h"
#include "heed/inspect/head_scores.h"

namespace heed {
namespace {

constexpr std::size_t kMostHeads = 16;
constexpr std::size_t kNumberDigits = 9;
constexpr std::size_t kPlaceDigits = 4;
constexpr const char* kPlaces = "a head as in L2.H4, L2.H4+H1 or cross.L2.H4";
constexpr std::array<std::string_view, 3> kUnits = {"token", "word", "sentence"};
constexpr std::array<std::string_view, 4> kPairs = {"A-A", "A-B", "B-A", "B-B"};
constexpr std::array<std::string_view, 4> kScales = {"linear", "sqrt", "log", "rank"};

constexpr std::string_view kViews[] = {
    "look",
    "why",
    "anatomy",
};

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

bool read_range(ViewAddress& view, std::string_view text) {
  const std::string_view first = text.substr(0, text.find('-'));
  if (first.size() == text.size()) return false;
  const auto begin = number_of(first, kNumberDigits);
  const auto end = number_of(text.substr(first.size() + 1), kNumberDigits);
  if (!begin || !end || *begin > *end) return false;
  view.range = {*begin, *end};
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

const std::array<Part, 8> kParts = {{
    {"i", "a number from 0",
     [](ViewAddress& view, std::string_view value) { return read_number(view.query, value); },
     [](const ViewAddress& view) { return number_text(view.query); }},
    {"j", "a number from 0",
     [](ViewAddress& view, std::string_view value) { return read_number(view.key, value); },
     [](const ViewAddress& view) { return number_text(view.key); }},
    {"range", "the first token and the last, as in 2-9", read_range,
     [](const ViewAddress& view) {
       return view.range ? fmt::format("{}-{}", view.range->first, view.range->second) : "";
     }},
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
  if (known == kParts.end()) refuse(part, "i=, j=, range=, to=, units=, scale=, pair= or scores=");
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

void check_token(const char* name, std::int64_t token, std::int64_t tokens) {
  if (token >= tokens)
    fail({.code = ErrorCode::kNotFound,
          .op = "view",
          .argument = name,
          .found = token,
          .expected = fmt::format("0 to {}, a token of the text", tokens - 1)});
}

void check_score(const std::string& name, const std::vector<StackShape>& stacks) {
  const bool causal = std::ranges::all_of(stacks, &StackShape::causal);
  std::vector<std::string_view> names;
  for (const ScoreInfo& info : score_infos())
    if (!causal || !info.looks_ahead) names.push_back(info.name);
  if (std::ranges::find(names, name) == names.end())
    fail({.code = ErrorCode::kNotFound,
          .op = "view",
          .argument = "scores",
          .found = name,
          .expected = fmt::format("two of {}", fmt::join(names, ", "))});
}

}  // namespace

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

Place place_of(const ViewPlace& place, const std::vector<StackShape>& stacks) {
  return {place.stack.value_or(stacks.at(0).stack), place.layer, place.head};
}

void check_view(const ViewAddress& view, std::string_view model,
                const std::vector<StackShape>& stacks, const MatrixSize& size) {
  const Stack first = place_of(view.places.front(), stacks).stack;
  for (const ViewPlace& place : view.places) {
    const StackShape& stack = find_stack("view", model, stacks, place_of(place, stacks).stack);
    if (stack.stack != first)
      fail({.op = "view",
            .argument = "stack",
            .found = stack_name(stack.stack),
            .expected = fmt::format("{}, as of the first head", stack_name(first))});
    check_layer("view", model, stack, place.layer);
    check_head("view", model, stack, place.head);
  }
  for (const std::string& name : view.scores) check_score(name, stacks);
  const std::int64_t pinned = view.to ? size.keys : size.queries;
  if (view.query) check_token("i", *view.query, view.key ? size.queries : pinned);
  if (view.key) check_token("j", *view.key, size.keys);
  if (view.range) check_token("range", view.range->second, view.to ? size.keys : size.queries);
}

void check_view(const ViewAddress& view, const Session& session) {
  const std::vector<StackShape> shapes = session.shapes();
  const Stack stack =
      find_stack("view", session.model, shapes, place_of(view.places.front(), shapes).stack).stack;
  check_view(view, session.model, shapes,
             {std::ssize(session.queries(stack)), std::ssize(session.keys(stack))});
  if (!view.pair.empty() && !session.split)
    fail({.op = "view",
          .argument = "pair",
          .found = view.pair,
          .expected = "none: one text was read, not a pair"});
}

}  // namespace heed
