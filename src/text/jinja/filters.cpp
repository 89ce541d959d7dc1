#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/numbers.h"
#include "text/jinja/functions.h"
#include "text/jinja/texts.h"

namespace heed::jinja {
namespace {

using Filter = Value (*)(const Value&, const Arguments&);

Value trim(const Value& value, const Arguments& given) {
  const Value* chars = given.find(0, "chars");
  std::optional<std::string> own;
  if (chars != nullptr && !chars->is_none()) own = given.text(0, "chars");
  return stripped(as_text(value), own, Side::kBoth);
}

template <std::string (*Change)(std::string_view)>
Value changed(const Value& value, const Arguments&) {
  return Change(as_text(value));
}

Value length(const Value& value, const Arguments&) { return length_of(value); }

Value default_of(const Value& value, const Arguments& given) {
  if (!value.is_undefined() && (!given.flag(1, "boolean") || value.truth())) return value;
  const Value* other = given.find(0, "default_value");
  return other == nullptr ? Value("") : *other;
}

Value first(const Value& value, const Arguments&) {
  const Values items = items_of(value);
  return items.empty() ? Value() : items.front();
}

Value last(const Value& value, const Arguments&) {
  if (value.list() != nullptr) length_of(value);  // a generator has no last item
  const Values items = items_of(value);
  return items.empty() ? Value() : items.back();
}

Value string(const Value& value, const Arguments&) { return as_text(value); }

Value list(const Value& value, const Arguments&) { return List{.items = items_of(value)}; }

Value whole(const Value& value, const Arguments& given) {
  const Value* other = given.find(0, "default");
  const Value otherwise = other == nullptr ? Value(std::int64_t{0}) : *other;
  if (value.is_undefined()) refuse_undefined(*value.undefined());
  if (value.is_integer()) return value.integer();
  double number = 0;
  if (value.is_float()) {
    number = value.number();
  } else if (value.text() != nullptr) {
    const std::string text = stripped(*value.text(), {}, Side::kBoth);
    const std::string_view digits = std::string_view(text).substr(text.starts_with('+') ? 1 : 0);
    std::int64_t integer = 0;
    if (read_number(digits, integer)) return integer;
    if (!read_number(digits, number)) return otherwise;
  } else {
    return otherwise;
  }
  if (!(std::abs(number) < 9e18)) return otherwise;
  return static_cast<std::int64_t>(number);
}

Value real(const Value& value, const Arguments& given) {
  const Value* other = given.find(0, "default");
  if (value.is_undefined()) refuse_undefined(*value.undefined());
  if (value.is_number()) return value.number();
  const std::string text = value.text() == nullptr ? "" : stripped(*value.text(), {}, Side::kBoth);
  double number = 0;
  if (read_number(std::string_view(text).substr(text.starts_with('+') ? 1 : 0), number))
    return number;
  return other == nullptr ? Value(0.0) : *other;
}

Value replace(const Value& value, const Arguments& given) {
  return replaced(as_text(value), given.text(0, "old"), given.text(1, "new"),
                  given.integer(2, "count", -1));
}

Value reverse(const Value& value, const Arguments&) {
  Values items = items_of(value);
  std::ranges::reverse(items);
  if (value.text() == nullptr) return List{std::move(items), Sequence::kGenerator};
  std::string text;
  for (const Value& each : items) text += *each.text();
  return text;
}

Value items_filter(const Value& value, const Arguments&) {
  if (value.is_undefined()) return List{{}, Sequence::kGenerator};
  const Mapping* dict = value.dict();
  if (dict == nullptr) refuse(fmt::format("the items of {}", value.type()), "of a dictionary");
  return List{pairs_of(*dict), Sequence::kGenerator};
}

// The indentation per level: a text, or this many spaces.
std::string blanks_of(const Value* given, std::int64_t width) {
  if (given != nullptr && given->text() != nullptr) return *given->text();
  return std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
}

Value to_json_filter(const Value& value, const Arguments& given) {
  JsonStyle style = {.ascii = given.flag(0, "ensure_ascii"), .sorted = given.flag(3, "sort_keys")};
  if (const Value* indent = given.find(1, "indent"); indent != nullptr && !indent->is_none()) {
    style.is_indented = true;
    style.item_separator = ",";
    const std::int64_t width = indent->text() != nullptr ? 0 : given.integer(1, "indent", 0);
    if (width > 100) refuse(fmt::format("indent is {}", width), "at most 100");
    style.indent = blanks_of(indent, width);
  }
  if (const Value* pair = given.find(2, "separators"); pair != nullptr && !pair->is_none()) {
    const Values both = items_of(*pair);
    if (both.size() != 2 || both[0].text() == nullptr || both[1].text() == nullptr)
      refuse(fmt::format("separators is {}", pair->type()), "two texts");
    style.item_separator = *both[0].text();
    style.key_separator = *both[1].text();
  }
  return to_json(value, style);
}

Value indent(const Value& value, const Arguments& given) {
  const Value* width = given.find(0, "width");
  const bool is_text = width != nullptr && width->text() != nullptr;
  const std::int64_t count = is_text ? 0 : given.integer(0, "width", 4);
  require_size(count);
  const std::string blanks = blanks_of(width, count);
  const bool fills_blank = given.flag(2, "blank");
  std::string out = given.flag(1, "first") ? blanks : "";
  bool is_first = true;
  for (const std::string& line : lines_of(as_text(value) + "\n")) {
    if (!is_first) out += '\n';
    if (!is_first && (fills_blank || !line.empty())) out += blanks;
    out += line;
    require_size(std::ssize(out));
    is_first = false;
  }
  return out;
}

// "a.b", or an index; `otherwise` replaces undefined.
Value attribute(Value value, const Value& path, const Value* otherwise = nullptr) {
  if (path.is_integer()) return item(value, path);
  if (path.text() == nullptr) refuse(fmt::format("attribute is {}", path.type()), "a name");
  for (const std::string& name : split(*path.text(), ".", -1, /*from_right=*/false)) {
    std::int64_t index = 0;
    value = item(value, read_number(name, index) ? Value(index) : Value(name));
    if (value.is_undefined() && otherwise != nullptr) value = *otherwise;
  }
  return value;
}

Value join(const Value& value, const Arguments& given) {
  const Value* path = given.find(1, "attribute");
  const Value* separator = given.find(0, "d");
  std::string out;
  bool is_first = true;
  for (const Value& each : items_of(value)) {
    if (!std::exchange(is_first, false) && separator != nullptr) out += as_text(*separator);
    out += as_text(path == nullptr || path->is_none() ? each : attribute(each, *path));
    require_size(std::ssize(out));
  }
  return out;
}

Arguments behind(const Arguments& given, std::size_t count) {
  const auto begin = given.positional.begin() +
                     static_cast<std::ptrdiff_t>(std::min(count, given.positional.size()));
  return {.positional = Values(begin, given.positional.end()), .named = given.named};
}

Value map(const Value& value, const Arguments& given) {
  List all = {.kind = Sequence::kGenerator};
  const Value* path = find(given.named, "attribute");
  const Value* otherwise = find(given.named, "default");
  if (path != nullptr) given.require(0, "attribute default");
  const std::string filter = path == nullptr ? given.text(0, "filter") : "";
  for (const Value& each : items_of(value)) {
    if (path == nullptr) {
      all.items.push_back(filtered(filter, each, behind(given, 1)));
      continue;
    }
    all.items.push_back(attribute(each, *path, otherwise));
  }
  return all;
}

// select, reject, and their variants with an attribute's name before the test.
template <bool Wanted, bool HasAttribute>
Value selected(const Value& value, const Arguments& given) {
  const std::size_t at = HasAttribute ? 1 : 0;
  if (HasAttribute && given.positional.empty()) refuse("no attribute", "its name");
  const bool has_test = given.positional.size() > at;
  List all = {.kind = Sequence::kGenerator};
  for (const Value& each : items_of(value)) {
    const Value own = HasAttribute ? attribute(each, given.positional[0]) : each;
    const bool is_so =
        has_test ? passes(given.text(at, "test"), own, behind(given, at + 1)) : own.truth();
    if (is_so == Wanted) all.items.push_back(each);
  }
  return all;
}

// Texts are compared ignoring case, unless requested otherwise.
Value compared_by(const Value& value, bool case_sensitive, const Value* path) {
  const Value own = path == nullptr || path->is_none() ? value : attribute(value, *path);
  return own.text() != nullptr && !case_sensitive ? Value(lower(*own.text())) : own;
}

Value sort(const Value& value, const Arguments& given) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& each : items_of(value))
    keyed.emplace_back(
        compared_by(each, given.flag(1, "case_sensitive"), given.find(2, "attribute")), each);
  const bool falls = given.flag(0, "reverse");
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    return falls ? less(b.first, a.first) : less(a.first, b.first);
  });
  List all;
  for (auto& [key, each] : keyed) all.items.push_back(std::move(each));
  return all;
}

Value dictsort(const Value& value, const Arguments& given) {
  const Value pairs = items_filter(value, {});
  return sort(pairs, {.positional = {false, given.flag(0, "case_sensitive"), std::int64_t{0}}});
}

Value unique(const Value& value, const Arguments& given) {
  constexpr std::size_t kMost = 10000;  // each is compared with all previous ones
  Values keys;
  List all = {.kind = Sequence::kGenerator};
  for (Value& each : items_of(value)) {
    Value key = compared_by(each, given.flag(0, "case_sensitive"), given.find(1, "attribute"));
    if (std::ranges::any_of(keys, [&](const Value& other) { return equal(key, other); })) continue;
    keys.push_back(std::move(key));
    all.items.push_back(std::move(each));
    if (keys.size() > kMost) refuse("more than 10000 unique items", "fewer");
  }
  return all;
}

Value absolute(const Value& value, const Arguments&) {
  if (!value.is_number()) refuse(fmt::format("abs of {}", value.type()), "of a number");
  return value.number() < 0 ? negated(value) : value.is_flag() ? Value(value.integer()) : value;
}

constexpr std::size_t kAny = SIZE_MAX;

struct KnownFilter {
  std::string_view name;
  Filter apply;
  std::size_t most = kAny;  // positional arguments; kAny: the filter checks its arguments
  std::string_view names = {};
};
constexpr KnownFilter kFilters[] = {
    {"trim", trim, 1, "chars"},
    {"length", length, 0},
    {"count", length, 0},
    {"tojson", to_json_filter, 4, "ensure_ascii indent separators sort_keys"},
    {"join", join, 2, "d attribute"},
    {"upper", changed<upper>, 0},
    {"lower", changed<lower>, 0},
    {"capitalize", changed<capitalized>, 0},
    {"title", changed<titled_words>, 0},
    {"default", default_of, 2, "default_value boolean"},
    {"d", default_of, 2, "default_value boolean"},
    {"first", first, 0},
    {"last", last, 0},
    {"list", list, 0},
    {"string", string, 0},
    {"safe", string, 0},
    {"int", whole, 1, "default"},
    {"float", real, 1, "default"},
    {"abs", absolute, 0},
    {"replace", replace, 3, "old new count"},
    {"reverse", reverse, 0},
    {"items", items_filter, 0},
    {"indent", indent, 3, "width first blank"},
    {"map", map},
    {"select", selected<true, false>},
    {"reject", selected<false, false>},
    {"selectattr", selected<true, true>},
    {"rejectattr", selected<false, true>},
    {"sort", sort, 3, "reverse case_sensitive attribute"},
    {"dictsort", dictsort, 1, "case_sensitive"},
    {"unique", unique, 2, "case_sensitive attribute"}};

}  // namespace

Value filtered(std::string_view filter, const Value& value, const Arguments& arguments) {
  const auto known = std::ranges::find(kFilters, filter, &KnownFilter::name);
  if (known == std::end(kFilters)) not_served("a filter", filter);
  if (known->most != kAny) arguments.require(known->most, known->names);
  return known->apply(value, arguments);
}

}  // namespace heed::jinja
