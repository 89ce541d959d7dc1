// Members under their own names: for answers, and for JSON whose members are those of structs.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/formats/json.h"

namespace heed {

/// Describes members under their own names: HEED_FIELDS(field, term.value) is
/// field("value", term.value). A function cannot do this, as it does not see its arguments' names.
#define HEED_FIELDS(field, ...) describe_members(field, #__VA_ARGS__, __VA_ARGS__)

void describe_members(auto& field, std::string_view names, const auto&... members) {
  const auto next_name = [&names] {
    const std::string_view first = names.substr(0, names.find(','));
    names.remove_prefix(std::min(first.size() + 1, names.size()));
    return first.substr(first.find_last_of(". ") + 1);
  };
  (field(next_name(), members), ...);
}

/// The field that adds members to an object.
struct JsonFields {
  Json json = Json::object();
  void operator()(std::string_view name, Json value) { json.set(name, std::move(value)); }
};

}  // namespace heed
