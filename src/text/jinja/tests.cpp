// The tests of templates, such as `value is defined`.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/texts.h"

namespace heed::jinja {
namespace {

using Test = bool (*)(const Value&, const Arguments&);

const Value& other(const Arguments& given) {
  if (given.positional.size() != 1 || !given.named.empty())
    refuse(fmt::format("{} arguments", given.positional.size() + given.named.size()), "one");
  return given.positional.front();
}

std::int64_t whole(const Value& value) {
  if (!value.is_integer()) refuse(fmt::format("{} is divided", value.type()), "a whole number");
  return value.integer();
}

bool is_divisible(const Value& value, std::int64_t by) {
  if (by == 0) refuse("a division by 0", "by another number");
  return by == -1 || whole(value) % by == 0;
}

// `is sameas true`: for other values, Python's answer depends on their memory addresses.
bool same(const Value& value, const Arguments& given) {
  const Value& wanted = other(given);
  if (!wanted.is_flag() && !wanted.is_none())
    not_served("a test", "sameas of other than true, false and none");
  return value.type() == wanted.type() && equal(value, wanted);
}

template <bool Lower>
bool has_case(const Value& value, const Arguments& /*given*/) {
  const std::string text = as_text(value);
  return text == (Lower ? lower(text) : upper(text)) && lower(text) != upper(text);
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.text() != nullptr || value.list() != nullptr ||
         value.dict() != nullptr;
}

constexpr std::pair<std::string_view, Test> kTests[] = {
    {"defined", [](const Value& value, const Arguments&) { return !value.is_undefined(); }},
    {"undefined", [](const Value& value, const Arguments&) { return value.is_undefined(); }},
    {"none", [](const Value& value, const Arguments&) { return value.is_none(); }},
    {"string", [](const Value& value, const Arguments&) { return value.text() != nullptr; }},
    {"mapping", [](const Value& value, const Arguments&) { return value.dict() != nullptr; }},
    {"iterable", [](const Value& value, const Arguments&) { return is_iterable(value); }},
    {"sequence",
     [](const Value& value, const Arguments&) {
       const List* list = value.list();
       return is_iterable(value) && (list == nullptr || list->kind != Sequence::kGenerator);
     }},
    {"number", [](const Value& value, const Arguments&) { return value.is_number(); }},
    {"integer",
     [](const Value& value, const Arguments&) { return value.is_integer() && !value.is_flag(); }},
    {"float", [](const Value& value, const Arguments&) { return value.is_float(); }},
    {"boolean", [](const Value& value, const Arguments&) { return value.is_flag(); }},
    {"true", [](const Value& value, const Arguments&) { return value.is_flag() && value.truth(); }},
    {"false",
     [](const Value& value, const Arguments&) { return value.is_flag() && !value.truth(); }},
    {"callable", [](const Value& value, const Arguments&) { return value.function() != nullptr; }},
    {"odd", [](const Value& value, const Arguments&) { return whole(value) % 2 != 0; }},
    {"even", [](const Value& value, const Arguments&) { return whole(value) % 2 == 0; }},
    {"divisibleby",
     [](const Value& value, const Arguments& given) {
       return is_divisible(value, whole(other(given)));
     }},
    {"sameas", same},
    {"lower", has_case<true>},
    {"upper", has_case<false>},
    {"eq", [](const Value& a, const Arguments& given) { return equal(a, other(given)); }},
    {"equalto", [](const Value& a, const Arguments& given) { return equal(a, other(given)); }},
    {"==", [](const Value& a, const Arguments& given) { return equal(a, other(given)); }},
    {"ne", [](const Value& a, const Arguments& given) { return !equal(a, other(given)); }},
    {"!=", [](const Value& a, const Arguments& given) { return !equal(a, other(given)); }},
    {"lt", [](const Value& a, const Arguments& given) { return less(a, other(given)); }},
    {"lessthan", [](const Value& a, const Arguments& given) { return less(a, other(given)); }},
    {"<", [](const Value& a, const Arguments& given) { return less(a, other(given)); }},
    {"le", [](const Value& a, const Arguments& given) { return !less(other(given), a); }},
    {"<=", [](const Value& a, const Arguments& given) { return !less(other(given), a); }},
    {"gt", [](const Value& a, const Arguments& given) { return less(other(given), a); }},
    {"greaterthan", [](const Value& a, const Arguments& given) { return less(other(given), a); }},
    {">", [](const Value& a, const Arguments& given) { return less(other(given), a); }},
    {"ge", [](const Value& a, const Arguments& given) { return !less(a, other(given)); }},
    {">=", [](const Value& a, const Arguments& given) { return !less(a, other(given)); }},
    {"in", [](const Value& a, const Arguments& given) { return contains(other(given), a); }}};

}  // namespace

bool passes(std::string_view test, const Value& value, const Arguments& arguments) {
  const auto known = std::ranges::find(kTests, test, &std::pair<std::string_view, Test>::first);
  if (known == std::end(kTests)) not_served("a test", test);
  return known->second(value, arguments);
}

}  // namespace heed::jinja
