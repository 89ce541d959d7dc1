#include "train/parameter_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/formats/json.h"
#include "heed/error.h"

namespace heed {
namespace {

[[noreturn]] void refuse(Phrase found, Phrase expected) {
  fail("train", "groups", std::move(found), std::move(expected));
}

double factor_of(const std::string& key, const Json& value) {
  const auto number = value.as_number();
  if (!number || !(*number >= 0 && *number < 1e6))
    refuse(fmt::format("a group whose {} is {}", key, value.brief()), "a number from 0 on");
  return *number;
}

ParameterGroup group_of(const Json& entry) {
  ParameterGroup group;
  for (const auto& [key, value] : entry.members()) {
    if (key == "names") {
      for (const Json& name : value.items())
        if (name.is_text() && !name.as_text()->empty()) group.names.push_back(*name.as_text());
    } else if (key == "learning_rate") {
      group.rule.rate = factor_of(key, value);
    } else if (key == "weight_decay") {
      group.rule.decay = factor_of(key, value);
    } else if (key == "frozen") {
      const std::optional<bool> frozen = value.as_flag();
      if (!frozen)
        refuse(fmt::format("a group whose frozen is {}", value.brief()), "true or false");
      group.rule.frozen = frozen.value_or(false);
    } else {
      refuse(fmt::format("a group with the key \"{}\"", key),
             "names, learning_rate, weight_decay or frozen");
    }
  }
  if (group.names.empty()) refuse(fmt::format("{}", entry.brief()), "names: a list of texts");
  return group;
}

constexpr std::string_view kFixed = "final_logits_bias";  // a buffer in transformers

bool belongs(const Parameter& parameter, const ParameterGroup& group) {
  return std::ranges::any_of(group.names, [&](const std::string& name) {
    return parameter.name.find(name) != std::string::npos;
  });
}

}  // namespace

std::vector<ParameterGroup> parse_parameter_groups(std::string_view json) {
  const JsonText text = JsonText::parse(std::string(json), {.file = "train: groups"});
  if (!text.root().is_array()) refuse(text.root().brief(), "a JSON list of groups");
  std::vector<ParameterGroup> groups;
  for (const Json& entry : text.root().items()) {
    if (!entry.is_object()) refuse(entry.brief(), "an object with names");
    groups.push_back(group_of(entry));
  }
  return groups;
}

std::vector<ParameterRule> rules_of(std::span<Parameter* const> parameters,
                                    std::span<const ParameterGroup> groups) {
  for (const ParameterGroup& group : groups)
    for (const std::string& name : group.names)
      if (std::ranges::none_of(parameters, [&](const Parameter* parameter) {
            return parameter->name.find(name) != std::string::npos;
          }))
        refuse(fmt::format("\"{}\"", name),
               fmt::format("a part of a parameter's name, as \"{}\"", parameters[0]->name));
  std::vector<ParameterRule> rules;
  for (const Parameter* parameter : parameters) {
    const auto group = std::ranges::find_if(
        groups, [&](const ParameterGroup& one) { return belongs(*parameter, one); });
    rules.push_back(group == groups.end() ? ParameterRule() : group->rule);
    if (parameter->name == kFixed) rules.back().frozen = true;
  }
  return rules;
}

}  // namespace heed
