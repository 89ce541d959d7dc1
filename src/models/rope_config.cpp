#include "models/rope_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace heed {
namespace {

constexpr std::array<std::pair<std::string_view, RopeScalingKind>, 6> kKinds = {
    {{"default", RopeScalingKind::kNone},
     {"linear", RopeScalingKind::kLinear},
     {"dynamic", RopeScalingKind::kDynamic},
     {"llama3", RopeScalingKind::kLlama3},
     {"yarn", RopeScalingKind::kYarn},
     {"longrope", RopeScalingKind::kLong}}};

constexpr const char* kTrained = "original_max_position_embeddings";

RopeScalingKind kind_of(const Config& scaling) {
  const char* key = scaling.has("rope_type") ? "rope_type" : "type";  // the older name
  const std::string wanted = scaling.text(key, "default");
  std::string known;
  for (const auto& [name, kind] : kKinds) {
    if (name == wanted) return kind;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  scaling.refuse(key, fmt::format("'{}'", wanted), "one of: " + known, ErrorCode::kUnsupported);
}

double factor_of(const Config& scaling, double otherwise) {
  const double factor = scaling.positive("factor", otherwise);
  if (factor < 1) scaling.refuse("factor", factor, "at least 1");
  return factor;
}

// Longer rows make up for a softmax over more keys (Peng et al. 2023, equation 15).
double yarn_length(const Config& scaling, double factor) {
  const auto length = [&](double share) {
    return factor <= 1 ? 1.0 : 0.1 * share * std::log(factor) + 1;
  };
  if (scaling.has("attention_factor")) return scaling.positive("attention_factor", 1);
  if (scaling.has("mscale") && scaling.has("mscale_all_dim"))
    return length(scaling.positive("mscale", 1)) / length(scaling.positive("mscale_all_dim", 1));
  return length(1);
}

// Ding et al. 2024. Without `attention_factor` rows are longer by the root of 1 + ln(factor) /
// ln(trained positions), as in Phi-3.
void read_long(const Config& scaling, RopeScaling& rope) {
  rope.short_factors = scaling.positives("short_factor", rope.width / 2);
  rope.long_factors = scaling.positives("long_factor", rope.width / 2);
  const double more = std::log(rope.factor) / std::log(static_cast<double>(rope.trained_positions));
  rope.length = scaling.positive("attention_factor", rope.factor <= 1 ? 1 : std::sqrt(1 + more));
}

// `top` is the whole configuration: Phi keeps the trained length there.
void read_scaling(const Config& scaling, const Config& top, std::int64_t positions,
                  RopeScaling& rope) {
  rope.kind = kind_of(scaling);
  if (rope.kind == RopeScalingKind::kNone) return;
  rope.trained_positions = rope.kind == RopeScalingKind::kDynamic
                               ? positions
                               : scaling.extent(kTrained, top.extent(kTrained, positions));
  rope.factor = factor_of(
      scaling, static_cast<double>(positions) / static_cast<double>(rope.trained_positions));
  rope.low_frequency_factor = scaling.positive("low_freq_factor", 1);
  rope.high_frequency_factor = scaling.positive("high_freq_factor", 4);
  rope.beta_fast = scaling.positive("beta_fast", 32);
  rope.beta_slow = scaling.positive("beta_slow", 1);
  rope.rounded_ramp = scaling.flag("truncate", true);
  if (rope.high_frequency_factor <= rope.low_frequency_factor)
    scaling.refuse("high_freq_factor", rope.high_frequency_factor,
                   fmt::format("above low_freq_factor ({})", rope.low_frequency_factor));
  if (rope.kind == RopeScalingKind::kYarn) rope.length = yarn_length(scaling, rope.factor);
  if (rope.kind == RopeScalingKind::kLong) read_long(scaling, rope);
}

}  // namespace

RopeScaling read_rope(const Config& config, std::int64_t head_dim, std::int64_t positions) {
  const std::optional<Config> parameters = config.part("rope_parameters");
  const Config& top = parameters ? *parameters : config;
  RopeScaling rope;
  rope.base = top.positive("rope_theta", config.positive("rope_theta", 10000));
  const double share =
      top.positive("partial_rotary_factor", config.positive("partial_rotary_factor", 1));
  rope.width = static_cast<std::int64_t>(static_cast<double>(head_dim) * share);
  if (rope.width < 2 || rope.width % 2 != 0 || rope.width > head_dim)
    top.refuse("partial_rotary_factor", share,
               fmt::format("an even number of head_dim's {} elements", head_dim));
  const std::optional<Config> older = parameters ? std::nullopt : config.part("rope_scaling");
  if (parameters) read_scaling(*parameters, config, positions, rope);
  if (older) read_scaling(*older, config, positions, rope);
  if (rope.kind == RopeScalingKind::kDynamic && rope.width < 4)
    top.refuse("rope_type", "'dynamic'", "another kind: pairs are one alone");
  return rope;
}

}  // namespace heed
