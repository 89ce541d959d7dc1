#include "train/adamw.h"

#include <algorithm>
#include <cmath>

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

}  // namespace heed
