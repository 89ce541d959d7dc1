#include "models/rope_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/wording.h"

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

const char* kind_key(const Config& scaling) {
  return scaling.has("rope_type") ? "rope_type" : "type";  // the older name
}

// Earlier files of Phi-3 have other names for its scaling.
bool is_long_of_phi3(const std::string& kind, const Config& top) {
  return (kind == "su" || kind == "yarn") && top.text("model_type", "") == "phi3";
}

RopeScalingKind scaling_of(const Config& scaling, const Config& top, const RopeKeys& keys) {
  const char* key = kind_key(scaling);
  const std::string wanted = scaling.text(key, "default");
  if (keys.may_be_proportional && wanted == "proportional") return RopeScalingKind::kProportional;
  if (is_long_of_phi3(wanted, top)) return RopeScalingKind::kLong;
  for (const auto& [name, kind] : kKinds)
    if (name == wanted) return kind;
  scaling.refuse(key, fmt::format("'{}'", wanted),
                 "one of: " + joined(kKinds | std::views::keys, ", "), ErrorCode::kUnsupported);
}

// `otherwise` is the default for kinds that do not require it.
double factor_of(const Config& scaling, std::optional<double> otherwise) {
  constexpr const char* kKey = "factor";
  if (!otherwise && !scaling.has(kKey))
    scaling.refuse(kKey, "missing",
                   fmt::format("a number of at least 1, as the scaling is '{}'",
                               scaling.text(kind_key(scaling), "")));
  const double factor = scaling.positive(kKey, otherwise.value_or(1));
  if (factor < 1) scaling.refuse(kKey, factor, "at least 1");
  return factor;
}

// Longer rows compensate for a softmax over more keys (Peng et al. 2023, equation 15).
double yarn_length(const Config& scaling, double factor) {
  const auto length = [&](double share) {
    return factor <= 1 ? 1.0 : 0.1 * share * std::log(factor) + 1;
  };
  if (scaling.has("attention_factor")) return scaling.positive("attention_factor", 1);
  // 0 means none.
  const double scale = scaling.not_negative("mscale", 0);
  const double scale_of_all = scaling.not_negative("mscale_all_dim", 0);
  if (scale > 0 && scale_of_all > 0) return length(scale) / length(scale_of_all);
  return length(1);
}

// Ding et al. 2024. Without `attention_factor`, rows are scaled by the root of 1 + ln(factor) /
// ln(trained positions), as in Phi-3.
void read_long(const Config& scaling, RopeScaling& rope) {
  rope.short_factors = scaling.positives("short_factor", rope.width / 2);
  rope.long_factors = scaling.positives("long_factor", rope.width / 2);
  const double more = std::log(rope.factor) / std::log(static_cast<double>(rope.trained_positions));
  rope.length = scaling.positive("attention_factor", rope.factor <= 1 ? 1 : std::sqrt(1 + more));
}

// Like transformers, prefer the top-level max_position_embeddings over the one inside rope_scaling.
std::int64_t trained_positions(const Config& scaling, const Config& top, std::int64_t positions) {
  return top.extent(kTrained, scaling.extent(kTrained, positions));
}

void read_llama3(const Config& scaling, RopeScaling& rope) {
  for (const char* key : {"low_freq_factor", "high_freq_factor"})
    if (!scaling.has(key)) scaling.refuse(key, "missing", "a number, as the scaling is 'llama3'");
  rope.low_frequency_factor = scaling.positive("low_freq_factor", 1);
  rope.high_frequency_factor = scaling.positive("high_freq_factor", 4);
  if (rope.high_frequency_factor <= rope.low_frequency_factor)
    scaling.refuse("high_freq_factor", rope.high_frequency_factor,
                   fmt::format("above low_freq_factor ({})", rope.low_frequency_factor));
}

void read_proportional(const Config& scaling, RopeScaling& rope) {
  constexpr const char* kShare = "partial_rotary_factor";
  const double share = scaling.not_negative(kShare, 1);
  if (share > 1) scaling.refuse(kShare, share, "0 to 1");
  rope.turning = static_cast<std::int64_t>(share * static_cast<double>(rope.width) / 2);
}

// `top` is the whole configuration, where Phi keeps the trained length.
void read_scaling(const Config& scaling, const Config& top, const RopeKeys& keys,
                  RopeScaling& rope) {
  const std::int64_t positions = keys.positions;
  rope.kind = scaling_of(scaling, top, keys);
  if (rope.kind == RopeScalingKind::kNone) return;
  const bool dynamic = rope.kind == RopeScalingKind::kDynamic;
  rope.trained_positions = dynamic ? positions : trained_positions(scaling, top, positions);
  std::optional<double> stretched;
  if (rope.kind == RopeScalingKind::kProportional) stretched = 1;
  if (rope.kind == RopeScalingKind::kLong ||
      (rope.kind == RopeScalingKind::kYarn && scaling.null("factor")))
    stretched = static_cast<double>(positions) / static_cast<double>(rope.trained_positions);
  rope.factor = factor_of(scaling, stretched);
  rope.beta_fast = scaling.positive("beta_fast", 32);
  rope.beta_slow = scaling.positive("beta_slow", 1);
  rope.rounded_ramp = scaling.flag("truncate", true);
  if (rope.kind == RopeScalingKind::kProportional) read_proportional(scaling, rope);
  if (rope.kind == RopeScalingKind::kLlama3) read_llama3(scaling, rope);
  if (rope.kind == RopeScalingKind::kYarn) rope.length = yarn_length(scaling, rope.factor);
  if (rope.kind == RopeScalingKind::kLong) read_long(scaling, rope);
}

// `rope_scaling` replaces `rope_parameters`, unless it is empty.
std::optional<Config> parameters_of(const Config& config) {
  std::optional<Config> older = config.part("rope_scaling");
  return older && !older->is_empty() ? older : config.part("rope_parameters");
}

// transformers reads the share but rotates whole heads; with scaled positions it fails.
void require_whole_heads(const Config& parameters, const Config& config, const RopeScaling& rope) {
  constexpr const char* kShare = "partial_rotary_factor";
  const Config& said = parameters.has(kShare) ? parameters : config;
  if (const double share = said.positive(kShare, 1);
      share != 1 && rope.kind != RopeScalingKind::kNone)
    said.refuse(kShare, share, "1: the positions of whole heads are scaled",
                ErrorCode::kUnsupported);
}

// `top` may have the trained length.
RopeScaling read_object(const Config& config, const std::optional<Config>& said,
                        const RopeKeys& keys, const Config& top) {
  constexpr const char* kShare = "partial_rotary_factor";
  if (!keys.share && keys.head_dim % 2 != 0)
    config.refuse("head_dim", keys.head_dim, "an even number");
  const Config nothing = Config::parse("{}", "config");
  const Config& beside = keys.only_inside ? nothing : config;
  const Config& parameters = said ? *said : beside;
  RopeScaling rope;
  rope.width = keys.head_dim;
  if (keys.share) {
    const double share = parameters.positive(kShare, beside.positive(kShare, *keys.share));
    rope.width = static_cast<std::int64_t>(static_cast<double>(keys.head_dim) * share);
    if (share > 1 || rope.width % 2 != 0 || rope.width == 0)
      parameters.refuse(kShare, share,
                        fmt::format("a share of head_dim ({}) that is an even number, at least 2",
                                    keys.head_dim));
  }
  rope.pairs = keys.pairs;
  rope.base = parameters.positive("rope_theta", keys.base);
  if (said) read_scaling(*said, top, keys, rope);
  if (!keys.share && rope.kind != RopeScalingKind::kProportional)
    require_whole_heads(parameters, config, rope);
  if (rope.kind == RopeScalingKind::kDynamic && rope.width < 4)
    parameters.refuse("rope_type", "'dynamic'", "another kind: pairs are one alone");
  return rope;
}

}  // namespace

RopeScaling read_rope(const Config& config, const RopeKeys& keys) {
  RopeKeys own = keys;
  if (!keys.only_inside) own.base = config.positive("rope_theta", keys.base);
  return read_rope(config, parameters_of(config), own);
}

RopeScaling read_rope(const Config& config, const std::optional<Config>& said,
                      const RopeKeys& keys) {
  return read_object(config, said, keys, config);
}

RopeScaling read_rope_of(const Config& config, const char* layers, const RopeKeys& keys,
                         bool is_scaled) {
  const std::optional<Config> all = config.part("rope_parameters");
  const std::optional<Config> older = is_scaled ? config.part("rope_scaling") : std::nullopt;
  std::optional<Config> own = all ? all->part(layers) : std::nullopt;
  if (own && older)
    own = own->updated(*older);
  else if (!own)
    own = older ? older : Config::parse("{}", "config");
  RopeScaling rope = read_object(config, own, keys, *own);
  // Like in transformers, `truncate` counts beside the kinds of layers, not inside.
  rope.rounded_ramp = !all || all->flag("truncate", true);
  return rope;
}

}  // namespace heed
