#include "cli/options/option.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <concepts>
#include <filesystem>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed::cli {
namespace {

template <typename Value>
constexpr bool is_vector =
    requires(Value value) { value.push_back({}); } && !std::is_same_v<Value, std::string>;

// The type of one value of a target, without the pointer, vector, optional or function around it.
template <typename Value>
struct One {
  using Type = Value;
};
template <typename Value>
struct One<Value*> : One<Value> {};
template <typename Value>
struct One<std::vector<Value>> : One<Value> {};
template <typename Value>
struct One<std::optional<Value>> : One<Value> {};
template <typename Value>
struct One<std::function<void(Value)>> : One<std::remove_cvref_t<Value>> {};

template <typename Value>
using OneOf = typename One<std::remove_cvref_t<Value>>::Type;

// `a whole number from 1 to 8`. The type's own limits are named only if the value exceeds them.
template <std::integral Number>
std::string whole_number(std::string_view found, Number least, Number most) {
  using Limits = std::numeric_limits<Number>;
  const bool is_beyond = is_beyond_the_type<Number>(found);
  const bool is_negative = found.starts_with('-');
  const bool says_least = least == 0 || least != Limits::min() || (is_beyond && is_negative);
  const bool says_most = most != Limits::max() || (is_beyond && !is_negative);
  std::string expected = "a whole number";
  if (says_least) expected += fmt::format(" from {}", least);
  if (says_most) expected += fmt::format("{} {}", says_least ? " to" : " of at most", most);
  return expected;
}

template <typename Value>
Value value_of(const Option& option, const std::string& text) {
  if constexpr (std::integral<Value>) {
    const auto least = static_cast<Value>(option.least.value_or(
        std::is_unsigned_v<Value> ? 0
                                  : static_cast<std::int64_t>(std::numeric_limits<Value>::min())));
    const auto most =
        option.most ? static_cast<Value>(*option.most) : std::numeric_limits<Value>::max();
    Value number = 0;
    if (!read_number(text, number) || number < least || number > most)
      refuse(option, text, whole_number(text, least, most));
    return number;
  } else if constexpr (std::floating_point<Value>) {
    Value number = 0;
    if (!read_number(text, number)) refuse(option, text, "a number");
    return number;
  } else {
    if (!option.words.empty() && std::ranges::find(option.words, text) == option.words.end())
      refuse(option, text,
             fmt::format("{}{}", option.words.size() > 1 ? "one of " : "",
                         joined(option.words, ", ")));
    return text;
  }
}

// The help's types in the words of errors; the other types are clear by themselves: "L,R", "5,3,9".
constexpr std::pair<std::string_view, const char*> kWordsOfTypes[] = {
    {"M", "a model's folder or name"},
    {"NAME", "a name"},
    {"WORD", "a word of the text, or the index of a token"},
    {"FILE", "a file's name"},
    {"DIR", "a folder's name"},
    {"HOST", "the address of a network interface"},
    {"TEXT", "a text"},
    {"IDS", "token ids, as in 5,3,9"},
    {"5,3,9", "token ids, as in 5,3,9"},
    {"N|all", "a number from 1, or all"},
    {"look/L2.H4/i=17/j=3", "an address of the page, as in look/L2.H4/i=17/j=3"},
};

// "5 3 9" has three values; a text keeps its spaces.
template <typename Value>
std::vector<std::string> pieces_of(const std::vector<std::string>& values) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return values;
  } else {
    std::vector<std::string> pieces;
    for (const std::string& value : values) {
      const std::size_t before = pieces.size();
      std::size_t end = 0;
      for (std::size_t at = 0; (at = value.find_first_not_of(' ', end)) != std::string::npos;) {
        end = std::min(value.find(' ', at), value.size());
        pieces.push_back(value.substr(at, end - at));
      }
      if (pieces.size() == before) pieces.push_back(value);
    }
    return pieces;
  }
}

template <typename Value>
std::string written(const Value& value) {
  if constexpr (is_vector<Value>)
    return joined(value, ",");
  else
    return fmt::format("{}", value);
}

std::string ending_of(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  if (ending.empty()) return {};
  ending.erase(0, 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == "txt" ? "text" : ending;
}

[[noreturn]] void refuse_ending(const std::string& file, std::span<const char* const> known) {
  std::vector<std::string_view> endings(known.begin(), known.end());
  std::ranges::replace(endings, "text", "txt");
  fail({.argument = "-o",
        .found = file,
        .expected = fmt::format("an ending among .{}", joined(endings, ", .")),
        .hint = "--format allows any other ending"});
}

}  // namespace

std::string Option::long_name() const { return name.substr(name.rfind(',') + 1); }

std::string Option::type_name() const {
  if (!type.empty()) return type;
  if (!words.empty()) return joined(words, "|");
  return std::visit(
      [](const auto& target) -> std::string {
        using Value = OneOf<decltype(target)>;
        if constexpr (std::is_same_v<Value, bool>) return "";
        if constexpr (std::floating_point<Value>) return "X";
        return std::integral<Value> ? "N" : "TEXT";
      },
      to);
}

std::string Option::expected() const {
  if (!expects.empty()) return expects;
  const std::string named = type_name();
  for (const auto& [type_of_help, in_words] : kWordsOfTypes)
    if (type_of_help == named) return in_words;
  if (named.ends_with(".npy")) return fmt::format("a file's name, {}", named);
  if (!words.empty()) return fmt::format("one of {}", joined(words, ", "));
  if (takes_several()) return named;
  return std::visit(
      [&](const auto& target) -> std::string {
        using Value = OneOf<decltype(target)>;
        if constexpr (std::floating_point<Value>) return "a number";
        return std::integral<Value> ? "a whole number" : named;
      },
      to);
}

bool Option::takes_several() const {
  return std::visit(
      [](const auto& target) {
        return is_vector<std::remove_pointer_t<std::remove_cvref_t<decltype(target)>>>;
      },
      to);
}

void add(OptionList& list, std::initializer_list<Option> more) {
  list.insert(list.end(), more.begin(), more.end());
}

void refuse(const Option& option, std::string_view found, std::string_view expected) {
  fail({.argument = option.long_name(),
        .found = fmt::format("\"{}\"", found),
        .expected = expected});
}

void read_values(const Option& option, const std::vector<std::string>& values) {
  std::visit(
      [&](const auto& target) {
        using To = std::remove_cvref_t<decltype(target)>;
        using Value = OneOf<To>;
        if constexpr (std::is_same_v<Value, bool>) {
          *target = true;
        } else if constexpr (!std::is_pointer_v<To>) {
          for (const std::string& text : values) target(value_of<Value>(option, text));
        } else if constexpr (is_vector<std::remove_pointer_t<To>>) {
          target->clear();
          for (const std::string& text : pieces_of<Value>(values))
            target->push_back(value_of<Value>(option, text));
        } else {
          for (const std::string& text : values) *target = value_of<Value>(option, text);
        }
      },
      option.to);
}

std::string default_of(const Option& option) {
  return std::visit(
      [](const auto& target) -> std::string {
        using To = std::remove_cvref_t<decltype(target)>;
        if constexpr (!std::is_pointer_v<To>) {
          return {};
        } else if constexpr (requires { target->has_value(); }) {
          return target->has_value() ? written(**target) : std::string();
        } else {
          return written(*target);
        }
      },
      option.to);
}

std::string format_of(const std::string& given, const std::string& out,
                      std::span<const char* const> known) {
  const std::string ending = ending_of(out);
  const bool is_known = std::ranges::find(known, ending) != known.end();
  if (given.empty()) {
    if (!is_known && !ending.empty()) refuse_ending(out, known);
    return is_known ? ending : known.front();
  }
  if (is_known && ending != given)
    fail({.found = fmt::format("--format {} and -o {} say two formats", given, out),
          .expected = "them to agree"});
  return given;
}

Option json_option(bool& given) {
  return {
      .name = "--json", .to = &given, .help = "short for --format json", .means = "--format=json"};
}

void add_json_options(OptionList& list, bool& json, const std::string& of_json) {
  add(list, {{.name = "--format",
              .to = [&json](const std::string& name) { json = name == "json"; },
              .help = fmt::format("text (default), or json: {}", of_json),
              .words = {"text", "json"}},
             json_option(json)});
}

}  // namespace heed::cli
