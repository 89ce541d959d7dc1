// Access to a part of a value: .name, [key], [first:last].
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/texts.h"

namespace heed::jinja {

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
