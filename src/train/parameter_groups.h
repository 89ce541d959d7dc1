// Parameters that learn in another way than the rest.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/nn/run.h"

namespace heed {

/// What an update of a parameter is, beside the optimiser's own numbers.
struct ParameterRule {
  double rate = 1;                   // times the learning rate
  std::optional<double> decay = {};  // in place of weight_decay, whether or not it decays
  bool frozen = false;               // never updated
};

struct ParameterGroup {
  std::vector<std::string> names;  // a parameter whose name holds one of them belongs to the group
  ParameterRule rule;
};

/// Of a JSON list `[{"names": ["embed"], "learning_rate": 0.1, "weight_decay": 0, "frozen":
/// true}]`. Errors name `groups`.
std::vector<ParameterGroup> parse_parameter_groups(std::string_view json);

/// The rule of each parameter: of the first group that it belongs to. A name that no parameter has
/// is an error.
std::vector<ParameterRule> rules_of(std::span<Parameter* const> parameters,
                                    std::span<const ParameterGroup> groups);

}  // namespace heed
