// Parameters with special learning rules.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"

namespace heed {

/// Changes to the optimiser's update for one parameter.
struct ParameterRule {
  double rate = 1;                   // factor of the learning rate
  std::optional<double> decay = {};  // replaces weight_decay, for all parameters
  bool frozen = false;               // never updated
};

struct ParameterGroup {
  std::vector<std::string> names;  // a parameter belongs if its name contains one of these
  ParameterRule rule;
};

/// Parses a JSON list `[{"names": ["embed"], "learning_rate": 0.1, "weight_decay": 0, "frozen":
/// true}]`. Errors name `groups`.
std::vector<ParameterGroup> parse_parameter_groups(std::string_view json);

/// The rule of each parameter, from the first group it belongs to. A name that matches no parameter
/// is an error.
std::vector<ParameterRule> rules_of(std::span<Parameter* const> parameters,
                                    std::span<const ParameterGroup> groups);

}  // namespace heed
