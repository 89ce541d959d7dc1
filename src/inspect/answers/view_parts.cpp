#include "inspect/answers/view_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "heed/text/tokenizer.h"

namespace heed {
namespace {

constexpr std::size_t kNumberDigits = 9;
constexpr std::ptrdiff_t kMostLinked = 2000;  // characters of a text
constexpr std::array<std::string_view, 4> kUnits = {"token", "character", "word", "sentence"};
constexpr std::array<std::string_view, 4> kPairs = {"A-A", "A-B", "B-A", "B-B"};
constexpr std::array<std::string_view, 2> kForms = {"raw", "adjusted"};
constexpr std::array<std::string_view, 3> kShows = {"A", "B", "A-B"};
constexpr std::array<std::string_view, 2> kOn = {"probe", "text"};
constexpr std::array<std::string_view, 2> kArcs = {"apart", "together"};
constexpr std::array<std::string_view, 2> kRotations = {"after", "before"};
constexpr std::array<std::string_view, 2> kQuantities = {"weight", "carried"};
constexpr std::array<std::string_view, 4> kScales = {"linear", "sqrt", "log", "rank"};
constexpr std::array<std::string_view, 3> kLines = {"surprise", "entropy", "rank"};
constexpr std::array<std::string_view, 2> kBys = {"rollout", "effect"};

bool read_number(std::optional<std::int64_t>& number, std::string_view text) {
  number = address_number(text, kNumberDigits);
  return number.has_value();
}

using Range = std::pair<std::int64_t, std::int64_t>;

std::optional<Range> range_of(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('-'));
  if (first.size() == text.size()) return {};
  const auto begin = address_number(first, kNumberDigits);
  const auto end = address_number(text.substr(first.size() + 1), kNumberDigits);
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

// "0.7": at most four digits after the point.
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

std::ptrdiff_t character_count(std::string_view text) {
  return std::ranges::count_if(
      text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; });
}

// Browsers write most characters of a text as %E2%80%A6; no character below is part of the grammar.
bool is_plain(char letter) {
  const bool is_alphanumeric = (letter >= '0' && letter <= '9') ||
                               (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
  return is_alphanumeric || std::string_view("-_.!~*'()").find(letter) != std::string_view::npos;
}

std::string text_part(const std::string& text) {
  std::string part;
  for (const char letter : text)
    part += is_plain(letter) ? std::string(1, letter)
                             : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  return part;
}

bool read_text(std::string& text, std::string_view part) {
  text.clear();
  for (std::size_t at = 0; at < part.size(); ++at) {
    unsigned byte = static_cast<unsigned char>(part[at]);
    if (part[at] == '%') {
      const char* const begin = part.data() + at + 1;
      if (at + 2 >= part.size() || std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2)
        return false;
      at += 2;
    }
    text += static_cast<char>(byte);
  }
  return !text.empty() && find_invalid_utf8(text) < 0 && character_count(text) <= kMostLinked;
}

const ViewPart kParts[] = {
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
    {"units", "token, character, word or sentence",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.units, kUnits, value);
     },
     [](const ViewAddress& view) { return view.units == "token" ? "" : view.units; }},
    {"of", "weight or carried",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.quantity, kQuantities, value);
     },
     [](const ViewAddress& view) { return view.quantity == "weight" ? "" : view.quantity; }},
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
    {"arcs", "apart or together",
     [](ViewAddress& view, std::string_view value) { return read_choice(view.arcs, kArcs, value); },
     [](const ViewAddress& view) { return view.arcs == "apart" ? "" : view.arcs; }},
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
       view.top_k = address_number(value, kNumberDigits).value_or(0);
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
    {"across", "a name, as in previous",
     [](ViewAddress& view, std::string_view value) {
       view.x = value;
       return is_score_name(value);
     },
     [](const ViewAddress& view) { return view.x == ViewAddress().x ? "" : view.x; }},
    {"up", "a name, as in previous",
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
    {"rotation", "after or before",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.rotation, kRotations, value);
     },
     [](const ViewAddress& view) { return view.rotation == "after" ? "" : view.rotation; }},
    {"vs",
     "a head as in L2.H4, edits as in ablate:self.L2.H4, text: and a text, or model: and its "
     "name",
     [](ViewAddress& view, std::string_view value) {
       view.versus = value;
       return read_versus(value).has_value();
     },
     [](const ViewAddress& view) { return view.versus; }},
    {"show", "A, B or A-B",
     [](ViewAddress& view, std::string_view value) {
       return read_choice(view.show, kShows, value);
     },
     [](const ViewAddress& view) { return view.show == "A-B" ? "" : view.show; }},
    {"guide", "1, 2, 3, 4 or 5",
     [](ViewAddress& view, std::string_view value) {
       view.guide = address_number(value, 1).value_or(0);
       return view.guide >= 1 && view.guide <= 5;
     },
     [](const ViewAddress& view) { return view.guide == 0 ? "" : fmt::format("{}", view.guide); }},
    {"m", "the name of a model",
     [](ViewAddress& view, std::string_view value) { return read_text(view.model, value); },
     [](const ViewAddress& view) { return text_part(view.model); }},
    {"x", "a text of 1 to 2000 characters, as in One%20day",
     [](ViewAddress& view, std::string_view value) { return read_text(view.text, value); },
     [](const ViewAddress& view) { return text_part(view.text); }},
    {"x2", "a second text of 1 to 2000 characters",
     [](ViewAddress& view, std::string_view value) { return read_text(view.second, value); },
     [](const ViewAddress& view) { return text_part(view.second); }},
};

}  // namespace

std::optional<std::int64_t> address_number(std::string_view text, std::size_t digits) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  if (text.empty() || text.size() > digits || !std::ranges::all_of(text, is_digit)) return {};
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::span<const ViewPart> view_parts() { return kParts; }

}  // namespace heed
