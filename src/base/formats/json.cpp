#include "base/formats/json.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

const Json kNull;

bool is_number_kind(std::size_t kind) { return kind >= 2 && kind <= 4; }

}  // namespace

Json Json::of_unsigned(std::uint64_t value) {
  Json json;
  if (value <= static_cast<std::uint64_t>(INT64_MAX))
    json.value_ = static_cast<std::int64_t>(value);
  else
    json.value_ = value;
  return json;
}

std::optional<bool> Json::as_flag() const {
  const bool* flag = std::get_if<bool>(&value_);
  return flag == nullptr ? std::nullopt : std::optional(*flag);
}

std::optional<std::int64_t> Json::as_integer() const {
  const std::int64_t* number = std::get_if<std::int64_t>(&value_);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<std::int64_t> Json::as_whole_number() const {
  const auto* number = std::get_if<double>(&value_);
  if (number == nullptr) return as_integer();
  constexpr double kMost = 9007199254740992.0;  // 2^53: every whole number below is exact
  if (!(std::abs(*number) <= kMost) || std::trunc(*number) != *number) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<std::uint64_t> Json::as_unsigned() const {
  if (const auto* number = std::get_if<std::uint64_t>(&value_)) return *number;
  const std::int64_t number = as_integer().value_or(-1);
  return number < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(number));
}

std::optional<double> Json::as_number() const {
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*number);
  return std::nullopt;
}

std::span<const Json> Json::items() const {
  const auto* items = std::get_if<std::vector<Json>>(&value_);
  return items == nullptr ? std::span<const Json>() : *items;
}

std::span<const Json::Member> Json::members() const {
  const auto* members = std::get_if<std::vector<Member>>(&value_);
  return members == nullptr ? std::span<const Member>() : *members;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members())
    if (member.first == key) return &member.second;
  return nullptr;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* found = find(key);
  return found == nullptr ? kNull : *found;
}

Json& Json::set(std::string_view key, Json value) {
  if (const Json* found = find(key)) return const_cast<Json&>(*found) = std::move(value);
  add(std::string(key), std::move(value));
  return std::get<std::vector<Member>>(value_).back().second;
}

void Json::add(std::string key, Json value) {
  if (is_null()) value_ = std::vector<Member>();
  std::get<std::vector<Member>>(value_).emplace_back(std::move(key), std::move(value));
}

void Json::push(Json item) {
  if (is_null()) value_ = std::vector<Json>();
  std::get<std::vector<Json>>(value_).push_back(std::move(item));
}

bool operator==(const Json& a, const Json& b) {
  if (is_number_kind(a.value_.index()) && is_number_kind(b.value_.index()))
    return a.value_.index() == b.value_.index() ? a.value_ == b.value_
                                                : a.as_number() == b.as_number();
  if (!a.is_object() || !b.is_object()) return a.value_ == b.value_;
  return a.members().size() == b.members().size() &&
         std::ranges::all_of(a.members(), [&](const Json::Member& member) {
           const Json* other = b.find(member.first);
           return other != nullptr && *other == member.second;
         });
}

}  // namespace heed
