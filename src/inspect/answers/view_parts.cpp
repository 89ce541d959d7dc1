#include "inspect/answers/view_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/look.h"
#include "heed/tokenizer.h"

namespace heed {
namespace {

constexpr std::size_t kNumberDigits = 9;
constexpr std::ptrdiff_t kMostLinked = 2000;  // characters of a text

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

std::ptrdiff_t character_count(std::string_view text) {
  return std::ranges::count_if(
      text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; });
}

// Browsers write most characters of a text as %E2%80%A6; no character below is part of the grammar.
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
    const auto byte = percent_byte(part, at);
    if (part[at] == '%' && !byte) return false;
    text += byte.value_or(part[at]);
    if (byte) at += 2;
  }
  return !text.empty() && find_invalid_utf8(text) < 0 && character_count(text) <= kMostLinked;
}

using Text = std::string ViewAddress::*;

// A member that is written unless it has its default.
auto unless_default(Text field) {
  return [=](const ViewAddress& view) {
    return view.*field == ViewAddress().*field ? "" : view.*field;
  };
}

// One of these words.
ViewPart choice(std::string_view name, Text field, std::vector<std::string_view> words) {
  std::string expected = listed(words, [](std::string_view word) { return std::string(word); });
  return {name, std::move(expected),
          [=](ViewAddress& view, std::string_view value) {
            view.*field = value;
            return std::ranges::find(words, value) != words.end();
          },
          unless_default(field)};
}

ViewPart score(std::string_view name, Text field) {
  return {name, "a name, as in previous",
          [=](ViewAddress& view, std::string_view value) {
            view.*field = value;
            return is_score_name(value);
          },
          unless_default(field)};
}

ViewPart text(std::string_view name, const char* expected, Text field) {
  return {name, expected,
          [=](ViewAddress& view, std::string_view value) { return read_text(view.*field, value); },
          [=](const ViewAddress& view) { return text_part(view.*field); }};
}

ViewPart token(std::string_view name, std::optional<std::int64_t> ViewAddress::* field) {
  return {name, "a number from 0",
          [=](ViewAddress& view, std::string_view value) {
            view.*field = address_number(value, kNumberDigits);
            return (view.*field).has_value();
          },
          [=](const ViewAddress& view) {
            return view.*field ? fmt::format("{}", *(view.*field)) : "";
          }};
}

ViewPart fraction(std::string_view name, const char* expected, double ViewAddress::* field,
                  double most) {
  return {name, expected,
          [=](ViewAddress& view, std::string_view value) {
            return read_fraction(view.*field, value, most);
          },
          [=](const ViewAddress& view) {
            return view.*field == 1 ? "" : fmt::format("{}", view.*field);
          }};
}

// A number from 1 to `most`; 0 is omitted.
ViewPart number(std::string_view name, const char* expected, std::int64_t ViewAddress::* field,
                std::int64_t most = INT64_MAX, std::size_t digits = kNumberDigits) {
  return {name, expected,
          [=](ViewAddress& view, std::string_view value) {
            view.*field = address_number(value, digits).value_or(0);
            return view.*field > 0 && view.*field <= most;
          },
          [=](const ViewAddress& view) {
            return view.*field == 0 ? "" : fmt::format("{}", view.*field);
          }};
}

std::vector<ViewPart> make_parts() {
  using View = ViewAddress;
  return {token("i", &View::query),
          token("j", &View::key),
          {"range", "the first token and the last, as in 2-9",
           [](View& view, std::string_view value) {
             view.range = range_of(value);
             return view.range.has_value();
           },
           [](const View& view) { return view.range ? range_text(*view.range) : ""; }},
          {"to", "0 or 1",
           [](View& view, std::string_view value) {
             view.to = value == "1";
             return value == "0" || value == "1";
           },
           [](const View& view) { return std::string(view.to ? "1" : ""); }},
          choice("units", &View::units, {"token", "character", "word", "sentence"}),
          choice("of", &View::quantity, {"weight", "carried"}),
          choice("scale", &View::scale, {"linear", "sqrt", "log", "rank"}),
          choice("pair", &View::pair, {"A-A", "A-B", "B-A", "B-B"}),
          choice("arcs", &View::arcs, {"apart", "together"}),
          {"scores", "two names, as in previous+distance", read_scores,
           [](const View& view) {
             return view.scores == View().scores ? "" : joined(view.scores, "+");
           }},
          fraction("t", "a temperature above 0 and at most 10, as in 0.7", &View::temperature, 10),
          number("k", "how many words may come, from 1", &View::top_k),
          fraction("p", "a share above 0 and at most 1, as in 0.9", &View::top_p, 1),
          choice("line", &View::line, {"surprise", "entropy", "rank"}),
          choice("by", &View::by, {"rollout", "effect"}),
          score("sort", &View::sort),
          {"filter", "conditions with plus signs between, as in previous>0.2+layer+4-8",
           read_filter, filter_text},
          {"zoom", "the queries and the keys in sight, as in 180-200,160-180", read_zoom,
           [](const View& view) {
             return view.zoom ? fmt::format("{},{}", range_text(view.zoom->first),
                                            range_text(view.zoom->second))
                              : "";
           }},
          score("across", &View::x),
          score("up", &View::y),
          choice("form", &View::form, {"raw", "adjusted"}),
          choice("on", &View::on, {"probe", "text"}),
          choice("rotation", &View::rotation, {"after", "before"}),
          {"vs",
           "a head as in L2.H4, edits as in ablate:self.L2.H4, text: and a text, or model: and its "
           "name",
           [](View& view, std::string_view value) {
             view.versus = value;
             return read_versus(value).has_value();
           },
           [](const View& view) { return view.versus; }},
          choice("show", &View::show, {"A", "B", "A-B"}),
          number("guide", "1, 2, 3, 4 or 5", &View::guide, 5, 1),
          text("m", "the name of a model", &View::model),
          text("x", "a text of 1 to 2000 characters, as in One%20day", &View::text),
          text("x2", "a second text of 1 to 2000 characters", &View::second)};
}

// Browsers write some letters of an address as %3E; a space may be written as a plus sign.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = percent_byte(text, at);
    plain += byte.value_or(text[at] == '+' ? ' ' : text[at]);
    if (byte) at += 2;
  }
  return plain;
}

std::string with_single_blanks(std::string_view text) {
  std::string single;
  for (const char letter : text)
    if (letter != ' ' || (!single.empty() && single.back() != ' ')) single += letter;
  if (single.ends_with(' ')) single.pop_back();
  return single;
}

}  // namespace

std::optional<std::int64_t> address_number(std::string_view text, std::size_t digits) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  if (text.empty() || text.size() > digits || !std::ranges::all_of(text, is_digit)) return {};
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<int> numbered(std::string_view text, char letter) {
  if (text.empty() || text.front() != letter) return {};
  const auto number = address_number(text.substr(1), kPlaceDigits);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

bool is_plain(char letter) {
  const bool is_alphanumeric = (letter >= '0' && letter <= '9') ||
                               (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
  return is_alphanumeric || std::string_view("-_.!~*'()").find(letter) != std::string_view::npos;
}

std::optional<char> percent_byte(std::string_view text, std::size_t at) {
  if (text[at] != '%' || text.size() - at < 3) return {};
  unsigned byte = 0;
  const char* const digits = text.data() + at + 1;
  if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return {};
  return static_cast<char>(byte);
}

std::span<const ViewPart> view_parts() {
  static const std::vector<ViewPart> parts = make_parts();
  return parts;
}

bool read_filter(ViewAddress& view, std::string_view text) {
  try {
    view.filter = with_single_blanks(parse_head_filter(decoded(text)).text);
  } catch (const Error&) {
    return false;
  }
  return !view.filter.empty();
}

std::string filter_text(const ViewAddress& view) {
  std::string text = view.filter;
  std::ranges::replace(text, ' ', '+');
  return text;
}

}  // namespace heed
