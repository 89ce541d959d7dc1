// The methods of texts, lists and dictionaries, and access to a part of a value: .name, [key],
// [first:last].
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/texts.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed::jinja {
namespace {

template <typename Own>
struct Method {
  std::string_view name;
  Value (*call)(const Own&, const Arguments&);
  std::size_t most;  // positional arguments
  std::string_view names = {};
};

template <Side Where>
Value strip(const std::string& text, const Arguments& given) {
  std::optional<std::string> chars;
  if (!given.positional.empty() && !given.positional[0].is_none()) chars = given.text(0, "chars");
  return stripped(text, chars, Where);
}

template <std::string (*Change)(std::string_view)>
Value changed(const std::string& text, const Arguments&) {
  return Change(text);
}

Value list_of(const std::vector<std::string>& texts) {
  return List{.items = Values(texts.begin(), texts.end())};
}

template <bool FromRight>
Value split_method(const std::string& text, const Arguments& given) {
  const Value* separator = given.find(0, "sep");
  const bool by_blanks = separator == nullptr || separator->is_none();
  const std::string own = by_blanks ? "" : given.text(0, "sep");
  if (!by_blanks && own.empty()) refuse("an empty separator", "a text");
  return list_of(split(text, own, given.integer(1, "maxsplit", -1), FromRight));
}

Value splitlines(const std::string& text, const Arguments&) { return list_of(lines_of(text)); }

// With one text or a tuple of texts.
template <bool AtEnd>
Value has_end(const std::string& text, const Arguments& given) {
  const auto has = [&](const Value& part) {
    if (part.text() == nullptr)
      refuse(fmt::format("a text that begins or ends with {}", part.type()), "with a text");
    return AtEnd ? text.ends_with(*part.text()) : text.starts_with(*part.text());
  };
  if (given.positional.empty()) refuse("no argument", "a text");
  const List* several = given.positional[0].list();
  return several == nullptr ? has(given.positional[0]) : std::ranges::any_of(several->items, has);
}

Value replace(const std::string& text, const Arguments& given) {
  const std::int64_t count = given.integer(2, "count", -1);
  return replaced(text, given.text(0, "old"), given.text(1, "new"), count);
}

// Counted in characters, like Python.
template <bool FromRight>
Value find_method(const std::string& text, const Arguments& given) {
  const std::string part = given.text(0, "sub");
  const std::size_t found = FromRight ? text.rfind(part) : text.find(part);
  return found == std::string::npos ? Value(std::int64_t{-1})
                                    : Value(length_of(text.substr(0, found)));
}

Value count_method(const std::string& text, const Arguments& given) {
  const std::string part = given.text(0, "sub");
  if (part.empty()) return length_of(text) + 1;
  return std::ssize(split(text, part, -1, /*from_right=*/false)) - 1;
}

Value join(const std::string& text, const Arguments& given) {
  if (given.positional.empty()) refuse("no argument", "a list of texts");
  for (const Value& each : items_of(given.positional[0]))
    if (each.text() == nullptr) refuse(fmt::format("{} is joined", each.type()), "texts");
  return filtered("join", given.positional[0], {.positional = {Value(text)}});
}

template <bool AtEnd>
Value remove(const std::string& text, const Arguments& given) {
  const std::string part = given.text(0, "prefix");
  if (AtEnd) return text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text;
  return text.starts_with(part) ? text.substr(part.size()) : text;
}

template <bool (*Is)(char32_t)>
Value all_are(const std::string& text, const Arguments&) {
  return !text.empty() && std::ranges::all_of(characters_of(text), [](const std::string& each) {
    return Is(character_at(each, 0).code);
  });
}

bool is_digit(char32_t code) { return general_category(code) == 9; }
bool is_letter_or_digit(char32_t code) { return is_letter(code) || is_number(code); }

constexpr Method<std::string> kOfTexts[] = {{"strip", strip<Side::kBoth>, 1},
                                            {"lstrip", strip<Side::kLeft>, 1},
                                            {"rstrip", strip<Side::kRight>, 1},
                                            {"upper", changed<upper>, 0},
                                            {"lower", changed<lower>, 0},
                                            {"capitalize", changed<capitalized>, 0},
                                            {"title", changed<titled>, 0},
                                            {"split", split_method<false>, 2, "sep maxsplit"},
                                            {"rsplit", split_method<true>, 2, "sep maxsplit"},
                                            {"splitlines", splitlines, 0},
                                            {"startswith", has_end<false>, 1},
                                            {"endswith", has_end<true>, 1},
                                            {"replace", replace, 3, "count"},
                                            {"find", find_method<false>, 1},
                                            {"rfind", find_method<true>, 1},
                                            {"count", count_method, 1},
                                            {"join", join, 1},
                                            {"removeprefix", remove<false>, 1},
                                            {"removesuffix", remove<true>, 1},
                                            {"isdigit", all_are<is_digit>, 0},
                                            {"isalpha", all_are<is_letter>, 0},
                                            {"isalnum", all_are<is_letter_or_digit>, 0},
                                            {"isspace", all_are<is_python_space>, 0}};

Value get(const Mapping& dict, const Arguments& given) {
  if (given.positional.empty()) refuse("no argument", "a key");
  const std::string* key = given.positional[0].text();
  const Value* found = key == nullptr ? nullptr : find(dict.members, *key);
  if (found != nullptr) return *found;
  return given.positional.size() > 1 ? given.positional[1] : Value(nullptr);
}

Value items(const Mapping& dict, const Arguments&) { return List{pairs_of(dict)}; }

template <bool Keys>
Value parts(const Mapping& dict, const Arguments&) {
  List all;
  for (const auto& [name, member] : dict.members) all.items.push_back(Keys ? Value(name) : member);
  return all;
}

constexpr Method<Mapping> kOfDicts[] = {
    {"get", get, 2}, {"items", items, 0}, {"keys", parts<true>, 0}, {"values", parts<false>, 0}};

Value index(const List& list, const Arguments& given) {
  if (given.positional.empty()) refuse("no argument", "an item");
  const auto found = std::ranges::find_if(
      list.items, [&](const Value& each) { return equal(each, given.positional[0]); });
  if (found == list.items.end()) refuse("an item that is not in the list", "one that is");
  return static_cast<std::int64_t>(found - list.items.begin());
}

Value count(const List& list, const Arguments& given) {
  if (given.positional.empty()) refuse("no argument", "an item");
  return static_cast<std::int64_t>(std::ranges::count_if(
      list.items, [&](const Value& each) { return equal(each, given.positional[0]); }));
}

constexpr Method<List> kOfLists[] = {{"index", index, 1}, {"count", count, 1}};

// Python's other methods: a call is rejected by name, and the name is never read as a member.
constexpr std::string_view kOthersOfTexts[] = {
    "format",     "format_map", "encode",     "center",       "ljust",       "rjust",
    "zfill",      "casefold",   "expandtabs", "index",        "rindex",      "partition",
    "rpartition", "swapcase",   "translate",  "isupper",      "islower",     "istitle",
    "isnumeric",  "isdecimal",  "isascii",    "isidentifier", "isprintable", "maketrans"};
constexpr std::string_view kOthersOfDicts[] = {"copy",       "clear",  "pop",     "popitem",
                                               "setdefault", "update", "fromkeys"};
constexpr std::string_view kOthersOfLists[] = {"append",  "extend", "insert", "pop", "remove",
                                               "reverse", "sort",   "clear",  "copy"};

template <auto Access, typename Known, typename Others>
Value bound_method(const Value& value, const std::string& name, const Known& known,
                   const Others& others) {
  for (const auto& method : known)
    if (method.name == name)
      return Function{name, [value, &method](const Arguments& given) {
                        given.require(method.most, method.names);
                        return method.call(*(value.*Access)(), given);
                      }};
  if (std::ranges::find(others, name) == std::end(others)) return {};
  return Function{name, [name, type = value.type()](const Arguments&) -> Value {
                    not_served(fmt::format("a method of {}", type), name);
                  }};
}

}  // namespace

Value method(const Value& value, const std::string& name) {
  if (value.text() != nullptr)
    return bound_method<&Value::text>(value, name, kOfTexts, kOthersOfTexts);
  if (value.dict() != nullptr)
    return bound_method<&Value::dict>(value, name, kOfDicts, kOthersOfDicts);
  const List* list = value.list();
  if (list == nullptr || list->kind == Sequence::kGenerator) return {};
  return bound_method<&Value::list>(value, name, kOfLists, kOthersOfLists);
}

Value member(const Value& value, const std::string& name) {
  if (value.is_undefined()) refuse_undefined(*value.undefined());
  if (Value own = method(value, name); !own.is_undefined()) return own;
  if (const Mapping* mapping = value.mapping())
    if (const Value* found = find(mapping->members, name)) return *found;
  return Undefined{name};
}

namespace {

Value at(const Value& value, std::int64_t index) {
  const List* list = value.list();
  if (list != nullptr && list->kind == Sequence::kGenerator) return {};
  const std::int64_t length = length_of(value);
  const std::int64_t place = index < 0 ? index + length : index;
  if (place < 0 || place >= length) return {};
  const auto i = static_cast<std::size_t>(place);
  return list != nullptr ? list->items[i] : Value(characters_of(*value.text())[i]);
}

}  // namespace

Value item(const Value& value, const Value& key) {
  if (value.is_undefined()) refuse_undefined(*value.undefined());
  if (const std::string* name = key.text()) {
    if (const Mapping* mapping = value.mapping())
      if (const Value* found = find(mapping->members, *name)) return *found;
    return member(value, *name);
  }
  const bool has_places = value.text() != nullptr || value.list() != nullptr;
  return has_places && key.is_integer() ? at(value, key.integer()) : Value();
}

namespace {

std::int64_t bound(const Value& given, std::int64_t otherwise, std::int64_t length, bool falls) {
  if (given.is_none()) return otherwise;
  if (!given.is_integer()) refuse(fmt::format("a slice by {}", given.type()), "whole numbers");
  std::int64_t place = given.integer();
  if (place < 0) place += length;
  return std::clamp<std::int64_t>(place, falls ? -1 : 0, falls ? length - 1 : length);
}

}  // namespace

Value slice(const Value& value, const Value& first, const Value& last, const Value& step) {
  if (value.is_undefined()) refuse_undefined(*value.undefined());
  const List* list = value.list();
  const bool is_generator = list != nullptr && list->kind == Sequence::kGenerator;
  if ((list == nullptr && value.text() == nullptr) || is_generator)
    refuse(fmt::format("a slice of {}", value.type()), "of a list or a text");
  const Values items = items_of(value);
  const std::int64_t length = std::ssize(items);
  if (!step.is_none() && !step.is_integer())
    refuse(fmt::format("a step of {}", step.type()), "a whole number");
  const std::int64_t by = step.is_none() ? 1 : step.integer();
  if (by == 0) refuse("a slice with a step of 0", "another step");
  const bool falls = by < 0;
  const std::int64_t begin = bound(first, falls ? length - 1 : 0, length, falls);
  const std::int64_t end = bound(last, falls ? -1 : length, length, falls);
  Values taken;
  for (std::int64_t i = begin; falls ? i > end : i < end;) {
    taken.push_back(items[static_cast<std::size_t>(i)]);
    if (by > length || by < -length) break;
    i += by;
  }
  if (list != nullptr) return List{std::move(taken), list->kind};
  std::string text;
  for (const Value& each : taken) text += *each.text();
  return text;
}

}  // namespace heed::jinja
