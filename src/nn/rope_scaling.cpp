#include "nn/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {
namespace {

std::vector<double> powers(double base, std::int64_t width) {
  std::vector<double> frequencies;
  for (std::int64_t n = 0; n < width / 2; ++n)
    frequencies.push_back(
        std::pow(base, -2.0 * static_cast<double>(n) / static_cast<double>(width)));
  return frequencies;
}

double dynamic_base(const RopeScaling& s, std::int64_t length) {
  const auto trained = static_cast<double>(s.trained_positions);
  const double longer = std::max(static_cast<double>(length), trained) / trained;
  const auto width = static_cast<double>(s.width);
  return s.base * std::pow(s.factor * longer - (s.factor - 1), width / (width - 2));
}

// Waves that fit fewer than `low` times into the trained length are stretched; those that fit more
// than `high` times are unchanged.
double llama3(const RopeScaling& s, double frequency) {
  const double fits = static_cast<double>(s.trained_positions) * frequency / (2 * std::numbers::pi);
  if (fits < s.low_frequency_factor) return frequency / s.factor;
  if (fits > s.high_frequency_factor) return frequency;
  const double share =
      (fits - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
  return (1 - share) * frequency / s.factor + share * frequency;
}

// The pair whose wave fits `turns` times into the trained length.
double pair_that_turns(const RopeScaling& s, double turns) {
  const auto trained = static_cast<double>(s.trained_positions);
  return static_cast<double>(s.width) * std::log(trained / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(s.base));
}

std::vector<double> yarn(const RopeScaling& s) {
  double first = pair_that_turns(s, s.beta_fast);
  double last = pair_that_turns(s, s.beta_slow);
  if (s.rounded_ramp) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(s.width - 1));
  if (first == last) last += 0.001;
  std::vector<double> frequencies = powers(s.base, s.width);
  for (std::size_t n = 0; n < frequencies.size(); ++n) {
    const double stretched =
        std::clamp((static_cast<double>(n) - first) / (last - first), 0.0, 1.0);
    frequencies[n] *= stretched / s.factor + (1 - stretched);
  }
  return frequencies;
}

}  // namespace

std::vector<double> rope_frequencies(const RopeScaling& scaling, std::int64_t length) {
  if (scaling.kind == RopeScalingKind::kYarn) return yarn(scaling);
  if (scaling.kind == RopeScalingKind::kDynamic)
    return powers(dynamic_base(scaling, length), scaling.width);
  std::vector<double> frequencies = powers(scaling.base, scaling.width);
  if (scaling.kind == RopeScalingKind::kLong) {
    const std::vector<double>& factors =
        length > scaling.trained_positions ? scaling.long_factors : scaling.short_factors;
    for (std::size_t n = 0; n < frequencies.size(); ++n) frequencies[n] /= factors[n];
    return frequencies;
  }
  if (scaling.kind == RopeScalingKind::kProportional)
    std::fill(frequencies.begin() + scaling.turning, frequencies.end(), 0.0);
  for (double& frequency : frequencies) {
    if (scaling.kind == RopeScalingKind::kProportional) frequency /= scaling.factor;
    if (scaling.kind == RopeScalingKind::kLinear) frequency /= scaling.factor;
    if (scaling.kind == RopeScalingKind::kLlama3) frequency = llama3(scaling, frequency);
  }
  return frequencies;
}

}  // namespace heed
