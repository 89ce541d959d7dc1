#include "text/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/texts.h"

namespace heed::jinja {
namespace {

constexpr int kMostNesting = 200;

Nesting around(Nesting outer, const Value& inner) {
  const Nesting own = inner.nesting();
  return {std::max(outer.depth, own.depth + 1), outer.size + own.size,
          outer.has_object || own.has_object};
}

void require_bounded(Nesting nesting) {
  if (nesting.depth > kMostNesting)
    refuse("lists in lists", fmt::format("at most {} levels", kMostNesting));
  require_size(nesting.size);
}

}  // namespace

Value::Value(Function function) : value_(std::make_shared<const Function>(std::move(function))) {}

Value::Value(List list) {
  for (const Value& item : list.items) list.nesting = around(list.nesting, item);
  require_bounded(list.nesting);
  value_ = std::make_shared<const List>(std::move(list));
}

Value::Value(Mapping mapping) {
  for (const auto& [name, member] : mapping.members)
    mapping.nesting = around(mapping.nesting, member);
  require_bounded(mapping.nesting);
  value_ = std::make_shared<Mapping>(std::move(mapping));
}

Nesting Value::nesting() const {
  if (const List* own = list()) return own->nesting;
  if (const Mapping* own = dict()) return own->nesting;
  if (const std::string* own = text()) return {.size = std::ssize(*own) + 64};
  return {.has_object = mapping() != nullptr || function() != nullptr};
}

Value Value::of(const Json& json) {
  if (json.is_null()) return nullptr;
  if (const auto flag = json.as_flag()) return *flag;
  if (const auto integer = json.as_integer()) return *integer;
  if (const auto number = json.as_number()) return *number;
  if (const std::string* text = json.as_text()) return *text;
  if (json.is_object()) {
    Mapping mapping;
    for (const auto& [name, member] : json.members())
      mapping.members.emplace_back(name, Value::of(member));
    return mapping;
  }
  List list;
  for (const Json& item : json.items()) list.items.push_back(Value::of(item));
  return list;
}

namespace {

template <typename T, typename Variant>
T* held(const Variant& value) {
  const auto* found = std::get_if<std::shared_ptr<T>>(&value);
  return found == nullptr ? nullptr : found->get();
}

}  // namespace

const List* Value::list() const { return held<const List>(value_); }
Mapping* Value::mapping() const { return held<Mapping>(value_); }
const Mapping* Value::dict() const {
  const Mapping* found = mapping();
  return found != nullptr && found->kind == Kind::kDict ? found : nullptr;
}
const Function* Value::function() const { return held<const Function>(value_); }

std::int64_t Value::integer() const {
  if (const bool* flag = std::get_if<bool>(&value_)) return *flag ? 1 : 0;
  return std::get<std::int64_t>(value_);
}

double Value::number() const {
  return is_float() ? std::get<double>(value_) : static_cast<double>(integer());
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return number() != 0;
  if (const std::string* own = text()) return !own->empty();
  if (const List* own = list()) return own->kind == Sequence::kGenerator || !own->items.empty();
  if (const Mapping* own = dict()) return !own->members.empty();
  return true;
}

std::string_view Value::type() const {
  constexpr std::string_view kNames[] = {"list", "tuple", "generator"};
  if (is_undefined()) return "undefined";
  if (is_none()) return "NoneType";
  if (is_flag()) return "bool";
  if (is_integer()) return "int";
  if (is_float()) return "float";
  if (text() != nullptr) return "str";
  if (const List* own = list()) return kNames[static_cast<std::size_t>(own->kind)];
  if (const Mapping* own = mapping())
    return own->kind == Kind::kDict ? "dict" : own->kind == Kind::kLoop ? "loop" : "namespace";
  return "function";
}

const Value* Arguments::find(std::size_t place, std::string_view name) const {
  if (place < positional.size()) return &positional[place];
  return jinja::find(named, name);
}

std::int64_t Arguments::integer(std::size_t place, std::string_view name,
                                std::int64_t otherwise) const {
  const Value* given = find(place, name);
  if (given == nullptr || given->is_none()) return otherwise;
  if (!given->is_integer()) refuse(fmt::format("{} is {}", name, given->type()), "a whole number");
  return given->integer();
}

bool Arguments::flag(std::size_t place, std::string_view name) const {
  const Value* given = find(place, name);
  return given != nullptr && given->truth();
}

std::string Arguments::text(std::size_t place, std::string_view name) const {
  const Value* given = find(place, name);
  if (given == nullptr) refuse(fmt::format("no argument '{}'", name), "a text");
  if (given->text() == nullptr) refuse(fmt::format("{} is {}", name, given->type()), "a text");
  return *given->text();
}

void Arguments::require(std::size_t most, std::string_view names) const {
  if (positional.size() > most)
    refuse(fmt::format("{} arguments", positional.size()), fmt::format("at most {}", most));
  const std::string known = fmt::format(" {} ", names);
  for (const auto& [name, value] : named)
    if (known.find(fmt::format(" {} ", name)) == std::string::npos)
      refuse(fmt::format("an argument '{}'", name), "none of that name");
}

void refuse(Phrase found, Phrase expected) {
  fail({.code = ErrorCode::kInvalidArgument,
        .found = std::move(found),
        .expected = std::move(expected)});
}

void not_served(std::string_view what, std::string_view name) {
  fail({.code = ErrorCode::kUnsupported,
        .found = fmt::format("{} '{}', which heed's templates do not have", what, name)});
}

void refuse_undefined(const Undefined& undefined) {
  refuse(undefined.name.empty() ? "an item that does not exist"
                                : fmt::format("'{}' is undefined", undefined.name));
}

const Value* find(const Members& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &Members::value_type::first);
  return found == members.end() ? nullptr : &found->second;
}

void set(Members& members, std::string_view name, Value value) {
  const auto found = std::ranges::find(members, name, &Members::value_type::first);
  if (found == members.end())
    members.emplace_back(std::string(name), std::move(value));
  else
    found->second = std::move(value);
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number())
    return a.is_integer() && b.is_integer() ? a.integer() == b.integer() : a.number() == b.number();
  if (a.text() != nullptr && b.text() != nullptr) return *a.text() == *b.text();
  if (const List *left = a.list(), *right = b.list(); left != nullptr && right != nullptr)
    return left->kind == right->kind && std::ranges::equal(left->items, right->items, equal);
  if (const Mapping *left = a.dict(), *right = b.dict(); left != nullptr && right != nullptr)
    return left->members.size() == right->members.size() &&
           std::ranges::all_of(left->members, [&](const auto& member) {
             const Value* other = find(right->members, member.first);
             return other != nullptr && equal(member.second, *other);
           });
  if (a.mapping() != nullptr || a.function() != nullptr)
    return a.mapping() == b.mapping() && a.function() == b.function();
  return (a.is_undefined() && b.is_undefined()) || (a.is_none() && b.is_none());
}

bool less(const Value& a, const Value& b) {
  if (a.is_undefined()) refuse_undefined(*a.undefined());
  if (b.is_undefined()) refuse_undefined(*b.undefined());
  if (a.is_number() && b.is_number())
    return a.is_integer() && b.is_integer() ? a.integer() < b.integer() : a.number() < b.number();
  if (a.text() != nullptr && b.text() != nullptr) return *a.text() < *b.text();
  const List *left = a.list(), *right = b.list();
  if (left == nullptr || right == nullptr || left->kind != right->kind)
    refuse(fmt::format("{} and {} are compared", a.type(), b.type()), "two numbers or two texts");
  const auto [x, y] = std::ranges::mismatch(left->items, right->items, equal);
  return y != right->items.end() && (x == left->items.end() || less(*x, *y));
}

bool contains(const Value& container, const Value& item) {
  if (const std::string* text = container.text()) {
    if (item.text() == nullptr) refuse(fmt::format("{} in a str", item.type()), "a text in it");
    return text->find(*item.text()) != std::string::npos;
  }
  if (const Mapping* dict = container.dict())
    return item.text() != nullptr && find(dict->members, *item.text()) != nullptr;
  return std::ranges::any_of(items_of(container),
                             [&](const Value& own) { return equal(own, item); });
}

Values items_of(const Value& value) {
  if (value.is_undefined()) return {};
  if (const List* list = value.list()) return list->items;
  if (const std::string* text = value.text()) {
    const std::vector<std::string> characters = characters_of(*text);
    return Values(characters.begin(), characters.end());
  }
  Values items;
  if (const Mapping* dict = value.dict()) {
    for (const auto& [name, member] : dict->members) items.emplace_back(name);
    return items;
  }
  refuse(fmt::format("{} is walked through", value.type()), "a list, a dictionary or a text");
}

Values pairs_of(const Mapping& mapping) {
  Values pairs;
  for (const auto& [name, member] : mapping.members)
    pairs.push_back(List{{name, member}, Sequence::kTuple});
  return pairs;
}

std::int64_t length_of(const Value& value) {
  if (const Mapping* dict = value.dict()) return std::ssize(dict->members);
  if (const std::string* text = value.text())
    return std::ranges::count_if(*text, [](char byte) { return (byte & 0xC0) != 0x80; });
  const List* list = value.list();
  const bool has_length = list != nullptr && list->kind != Sequence::kGenerator;
  if (!value.is_undefined() && !has_length)
    refuse(fmt::format("the length of {}", value.type()), "of a list, a dictionary or a text");
  return std::ssize(items_of(value));
}

void require_size(std::int64_t size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  if (size > kMost) refuse("a value of more than 64 MiB", "a smaller one");
}

}  // namespace heed::jinja
