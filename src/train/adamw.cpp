#include "train/adamw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/formats/json.h"
#include "heed/error.h"
#include "heed/threads.h"
#include "ops/kernels/adamw.h"

namespace heed {
namespace {

// Four arrays of a piece fill half of a 1 MiB cache. Pieces are the same for any number of threads,
// and so are sums over pieces.
constexpr std::int64_t kPieceElements = 32768;

}  // namespace

AdamWArgs adamw_of(const TrainConfig& config, std::span<Parameter* const> parameters) {
  return {.beta1 = config.beta1,
          .beta2 = config.beta2,
          .epsilon = config.epsilon,
          .weight_decay = config.weight_decay,
          .rules = rules_of(parameters, parse_parameter_groups(config.groups))};
}

AdamW::AdamW(std::span<Parameter* const> parameters, Gradients& gradients, const AdamWArgs& args)
    : args_(args) {
  moments_.reserve(parameters.size());
  for (std::size_t index = 0; index < parameters.size(); ++index) {
    Parameter* const parameter = parameters[index];
    const ParameterRule rule = args.rules.empty() ? ParameterRule() : args.rules[index];
    const double decay = rule.decay.value_or(parameter->decays ? args.weight_decay : 0);
    const Shape& shape = parameter->value.shape();
    Moments& moments = moments_.emplace_back(Moments{Tensor::zeros(shape), Tensor::zeros(shape)});
    float* value = parameter->value.data<float>();
    float* gradient = gradients.of(*parameter).data<float>();
    const std::int64_t count = rule.frozen ? 0 : shape.element_count();
    for (std::int64_t begin = 0; begin < count; begin += kPieceElements)
      pieces_.push_back({value + begin, gradient + begin, moments.first.data<float>() + begin,
                         moments.second.data<float>() + begin,
                         std::min(kPieceElements, count - begin), index, rule.rate, decay});
  }
  squares_.resize(pieces_.size());
  parameter_squares_.resize(parameters.size());
}

double AdamW::gradient_norm() const {
  parallel_for(static_cast<std::int64_t>(pieces_.size()), [this](std::int64_t index, int) {
    const auto i = static_cast<std::size_t>(index);
    squares_[i] = kernels::sum_of_squares(pieces_[i].gradient, pieces_[i].count);
  });
  double sum = 0;
  std::ranges::fill(parameter_squares_, 0);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    parameter_squares_[pieces_[i].parameter] += squares_[i];
    sum += squares_[i];
  }
  return std::sqrt(sum);
}

void AdamW::step(double learning_rate, double gradient_scale) {
  ++steps_;
  const auto power = static_cast<double>(steps_);
  kernels::AdamWUpdate<float> plain;
  plain.gradient_scale = static_cast<float>(gradient_scale);
  plain.beta1 = static_cast<float>(args_.beta1);
  plain.beta2 = static_cast<float>(args_.beta2);
  const double unbiased = learning_rate / (1 - std::pow(args_.beta1, power));
  plain.second_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(args_.beta2, power)));
  plain.epsilon = static_cast<float>(args_.epsilon);
  parallel_for(static_cast<std::int64_t>(pieces_.size()), [&](std::int64_t index, int) {
    const Piece& p = pieces_[static_cast<std::size_t>(index)];
    kernels::AdamWUpdate<float> update = plain;
    update.rate = static_cast<float>(p.rate * unbiased);
    update.keep = static_cast<float>(1 - p.rate * learning_rate * p.decay);
    kernels::adamw({p.value, p.gradient, p.first, p.second, p.count}, update);
  });
}

namespace {

// Without the final decay.
double held_rate(const Schedule& schedule, double at) {
  if (schedule.form == "constant") return schedule.peak;
  const auto warmup = static_cast<double>(std::max<std::int64_t>(schedule.warmup, 1));
  return schedule.peak * std::sqrt(warmup / std::max(at, warmup));
}

}  // namespace

Schedule schedule_of(const TrainConfig& config) {
  return {.form = config.schedule,
          .peak = config.learning_rate,
          .last = config.final_learning_rate,
          .warmup = config.warmup,
          .steps = config.steps,
          .decay = config.decay};
}

double learning_rate(const Schedule& schedule, std::int64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule.warmup);
  const auto end = static_cast<double>(schedule.steps - 1);  // the last step
  if (step < schedule.warmup) return schedule.peak * (at + 1) / (warmup + 1);
  if (schedule.form == "inverse-sqrt" || schedule.form == "constant") {
    const auto decay = static_cast<double>(schedule.decay);
    const double left = decay > 0 ? std::clamp((end - at) / decay, 0.0, 1.0) : 1;
    const double held = held_rate(schedule, std::min(at, std::max(end - decay, warmup)));
    return schedule.last + left * (held - schedule.last);
  }
  if (step >= schedule.steps - 1) return schedule.last;
  const double done = (at - warmup) / (end - warmup);
  const double share =
      schedule.form == "linear" ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return schedule.last + share * (schedule.peak - schedule.last);
}

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

// transformers keeps these as buffers: the bias of BART's kin, and Gemma 4's number of a layer.
bool is_buffer(const Parameter& parameter) {
  return parameter.name == "final_logits_bias" || parameter.name.ends_with(".layer_scalar");
}

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
    if (is_buffer(*parameter)) rules.back().frozen = true;
  }
  return rules;
}

}  // namespace heed
