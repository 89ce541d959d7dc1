// How an answer describes itself: `describe(field, answer)` calls `field(name, value)` for each
// field, and a visitor turns that into JSON (answer_writer.h) or the page's types
// (tests/support/answer_types.h). An answer that is a struct of this folder has a member
// `describe(field)` instead.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/formats/members.h"
#include "heed/session.h"

namespace heed {

/// A value written as null if missing; a plain std::optional omits the field instead.
template <typename Value>
struct Nullable {
  std::optional<Value> value = {};
};

/// Numbers that may be missing: NaN is written as null.
struct Masked {
  std::vector<float> values = {};
};

template <typename Answer>
  requires requires(const Answer& answer, int field) { answer.describe(field); }
void describe(auto& field, const Answer& answer) {
  answer.describe(field);
}

/// A struct with `describe`.
template <typename Answer>
concept Described = requires(const Answer& answer, int field) { describe(field, answer); };

template <typename>
struct IsOptional : std::false_type {};
template <typename Value>
struct IsOptional<std::optional<Value>> : std::true_type {};

template <typename>
struct IsList : std::false_type {};
template <typename Value>
struct IsList<std::vector<Value>> : std::true_type {};

template <typename>
struct IsNullable : std::false_type {};
template <typename Value>
struct IsNullable<Nullable<Value>> : std::true_type {};

template <typename>
struct IsMap : std::false_type {};
template <typename Value>
struct IsMap<std::map<std::string, Value>> : std::true_type {};

/// Quoted and escaped; invalid UTF-8 bytes become <0xE3>.
std::string json_string(std::string_view bytes);

/// A token's text in valid UTF-8, and its bytes in hex if the text cannot hold them.
std::string token_text(std::string_view bytes);
std::optional<std::string> token_hex(std::string_view bytes);

void describe_place(auto& field, const Place& place) {
  HEED_FIELDS(field, place.stack, place.layer, place.head);
}

}  // namespace heed
