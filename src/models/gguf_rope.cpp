// Rotary positions of GGUF files.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "models/decoder.h"
#include "models/gguf_architecture.h"
#include "nn/rotation.h"

namespace heed {
namespace {

constexpr std::string_view kFactors = "rope_freqs.weight";
constexpr std::string_view kShortFactors = "rope_factors_short.weight";
constexpr std::string_view kLongFactors = "rope_factors_long.weight";

// The factors by which Llama 3.1 divides the frequency of each pair of dimensions (transformers'
// rope_type "llama3").
std::vector<double> llama3_factors(const RopeScaling& rope) {
  const double low = rope.low_frequency_factor, high = rope.high_frequency_factor;
  std::vector<double> factors;
  for (std::int64_t pair = 0; pair < rope.width / 2; ++pair) {
    const double share = 2 * static_cast<double>(pair) / static_cast<double>(rope.width);
    const double wave = 2 * std::numbers::pi * std::pow(rope.base, share);
    const double waves = static_cast<double>(rope.trained_positions) / wave;
    const double smooth = std::clamp((waves - low) / (high - low), 0.0, 1.0);
    factors.push_back(1 / ((1 - smooth) / rope.factor + smooth));
  }
  return factors;
}

}  // namespace

std::vector<double> fixed_rope_factors(const RopeScaling& rope) {
  if (rope.kind == RopeScalingKind::kLlama3) return llama3_factors(rope);
  const bool is_fixed =
      rope.kind == RopeScalingKind::kLong && rope.short_factors == rope.long_factors;
  return is_fixed ? rope.short_factors : std::vector<double>();
}

namespace {

// YaRN's default length of rows (Peng et al. 2023, equation 15).
double usual_length(double factor) { return factor <= 1 ? 1 : 0.1 * std::log(factor) + 1; }

// --- a file's keys as `rope_scaling` ---

// Whether these are Llama 3's factors. llama.cpp's converter computes them in f32, which changes
// them by less than 1e-5.
bool is_llama3(const std::vector<double>& factors, const RopeScaling& rope) {
  return std::ranges::equal(factors, llama3_factors(rope), [](double stored, double usual) {
    return std::abs(stored - usual) < 1e-5 * usual;
  });
}

// A single list of factors is Llama 3's, whose models were trained on 8192 positions or another
// power of two, or that of a kind with a factor per pair.
Json one_list(const GgufKeys& keys, const std::vector<double>& factors, std::int64_t width,
              double base) {
  RopeScaling llama3 = {
      .width = width, .base = base, .factor = std::round(*std::ranges::max_element(factors))};
  std::vector<std::int64_t> lengths = {8192};
  for (std::int64_t length = 1; length <= std::int64_t{1} << 24; length *= 2)
    lengths.push_back(length);
  for (const std::int64_t length : lengths) {
    llama3.trained_positions = length;
    if (is_llama3(factors, llama3))
      return {{"rope_type", "llama3"},
              {"factor", llama3.factor},
              {"low_freq_factor", llama3.low_frequency_factor},
              {"high_freq_factor", llama3.high_frequency_factor},
              {"original_max_position_embeddings", length}};
  }
  return {
      {"rope_type", "longrope"}, {"factor", 1.0},
      {"attention_factor", 1.0}, {"original_max_position_embeddings", keys.count("context_length")},
      {"short_factor", factors}, {"long_factor", factors}};
}

Json two_lists(const GgufKeys& keys, const std::vector<double>& near_ones,
               const std::vector<double>& far_ones) {
  Json scaling = {
      {"rope_type", "longrope"},
      {"short_factor", near_ones},
      {"long_factor", far_ones},
      {"original_max_position_embeddings",
       keys.count("rope.scaling.original_context_length", keys.count("context_length"))}};
  if (keys.has("rope.scaling.attn_factor"))
    scaling.set("attention_factor", keys.number("rope.scaling.attn_factor"));
  return scaling;
}

Json yarn(const GgufKeys& keys) {
  const double factor = keys.number("rope.scaling.factor", 1);
  Json scaling = {
      {"rope_type", "yarn"},
      {"factor", factor},
      {"original_max_position_embeddings",
       keys.count("rope.scaling.original_context_length", keys.count("context_length"))}};
  // llama.cpp multiplies the usual length by attn_factor; its converter stores the hub's length as
  // yarn_attn_factor.
  if (keys.has("rope.scaling.attn_factor"))
    scaling.set("attention_factor", keys.number("rope.scaling.attn_factor") * usual_length(factor));
  else if (keys.has("rope.scaling.yarn_attn_factor"))
    scaling.set("attention_factor", keys.number("rope.scaling.yarn_attn_factor"));
  if (keys.has("rope.scaling.yarn_beta_fast"))
    scaling.set("beta_fast", keys.number("rope.scaling.yarn_beta_fast"));
  if (keys.has("rope.scaling.yarn_beta_slow"))
    scaling.set("beta_slow", keys.number("rope.scaling.yarn_beta_slow"));
  return scaling;
}

Json scaling_of(const GgufKeys& keys, std::int64_t width, double base, bool has_factors) {
  if (const auto* factors = keys.factors(kFactors, width / 2))
    return one_list(keys, *factors, width, base);
  const auto *near_ones = keys.factors(kShortFactors, width / 2),
             *far_ones = keys.factors(kLongFactors, width / 2);
  if (near_ones != nullptr && !has_factors)
    keys.refuse(kShortFactors, "there", "none: llama.cpp does not have longrope here",
                ErrorCode::kUnsupported);
  if (near_ones != nullptr && far_ones != nullptr) return two_lists(keys, *near_ones, *far_ones);
  const std::string kind = keys.text("rope.scaling.type", "none");
  if (kind == "none") return {};
  if (kind == "yarn") return yarn(keys);
  if (kind != "linear")
    keys.refuse(keys.name("rope.scaling.type"), fmt::format("'{}'", clipped(kind)),
                "none, linear or yarn, or longrope with its two tensors of factors",
                ErrorCode::kUnsupported);
  return {{"rope_type", kind}, {"factor", keys.number("rope.scaling.factor", 1)}};
}

// A share that gives this width again when multiplied by the head size: both are rounded down.
double share_of(std::int64_t width, std::int64_t head_dim) {
  const double share = static_cast<double>(width) / static_cast<double>(head_dim);
  return static_cast<double>(head_dim) * share < static_cast<double>(width)
             ? std::nextafter(share, 1.0)
             : share;
}

void set_rotation(Json scaling, Json& config) {
  // Phi 3's place for it.
  if (scaling["rope_type"] == Json("longrope"))
    config.set("original_max_position_embeddings", scaling["original_max_position_embeddings"]);
  config.set("rope_scaling", std::move(scaling));
}

// One rotation for layers without a window, one for the others.
void set_two_rotations(const GgufKeys& keys, double base, double usual, Json scaling,
                       Json& config) {
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  scaling.set("rope_theta", base);
  const double local = keys.number("rope.freq_base_swa", usual == 0 ? base : usual);
  config.set(
      "rope_parameters",
      Json({{"full_attention", std::move(scaling)},
            {"sliding_attention", Json({{"rope_type", "default"}, {"rope_theta", local}})}}));
}

}  // namespace

void read_gguf_rope(const GgufDecoder& decoder, const GgufKeys& keys,
                    const std::vector<bool>& slides, Json& config) {
  const std::int64_t head_dim = keys.head_dim();
  const std::int64_t width = keys.count("rope.dimension_count", head_dim);
  if (decoder.share == nullptr && width != head_dim)
    keys.refuse(keys.name("rope.dimension_count"), width,
                fmt::format("{}: whole heads are rotated", head_dim), ErrorCode::kUnsupported);
  if (width > head_dim)
    keys.refuse(keys.name("rope.dimension_count"), width,
                fmt::format("at most {}, the head's size", head_dim));
  if (decoder.share != nullptr) config.set(decoder.share, share_of(width, head_dim));
  const double base = keys.number("rope.freq_base", 10000);
  config.set(decoder.base, base);
  Json scaling = scaling_of(keys, width, base, decoder.has_factors);
  if (decoder.local_base && std::ranges::find(slides, true) != slides.end())
    set_two_rotations(keys, base, *decoder.local_base, std::move(scaling), config);
  else if (!scaling.is_null())
    set_rotation(std::move(scaling), config);
}

namespace {

void write_yarn(const RopeScaling& rope, Json& keys) {
  keys.set("rope.scaling.type", "yarn");
  keys.set("rope.scaling.factor", rope.factor);
  keys.set("rope.scaling.yarn_beta_fast", rope.beta_fast);
  keys.set("rope.scaling.yarn_beta_slow", rope.beta_slow);
  if (const double more = rope.length / usual_length(rope.factor); std::abs(more - 1) > 1e-6)
    keys.set("rope.scaling.attn_factor", more);
}

}  // namespace

void write_gguf_rope(const GgufArchitecture& architecture, const DecoderShape& shape,
                     GgufWritten& written) {
  const RopeScaling& rope = shape.rotations.front();
  Json& keys = written.keys;
  keys.set("rope.dimension_count", rope.width);
  keys.set("rope.freq_base", rope.base);
  if (shape.rotations.size() > 1) keys.set("rope.freq_base_swa", shape.rotations[1].base);
  switch (rope.kind) {
    case RopeScalingKind::kNone:
    case RopeScalingKind::kDynamic:       // refused by `require_said`
    case RopeScalingKind::kProportional:  // of a family without GGUF files
      return;
    case RopeScalingKind::kLlama3:
      if (!architecture.decoder.has_factors)
        fail("gguf", "rope_type", "llama3",
             fmt::format("none, linear or yarn: llama.cpp's '{}' reads no factors of frequencies",
                         architecture.name),
             ErrorCode::kUnsupported);
      written.factors.emplace(kFactors, llama3_factors(rope));
      return;
    case RopeScalingKind::kLong:
      keys.set("rope.scaling.type", "longrope");
      keys.set("rope.scaling.attn_factor", rope.length);
      written.factors.emplace(kShortFactors, rope.short_factors);
      written.factors.emplace(kLongFactors, rope.long_factors);
      break;
    case RopeScalingKind::kLinear:
      keys.set("rope.scaling.type", "linear");
      keys.set("rope.scaling.factor", rope.factor);
      return;
    case RopeScalingKind::kYarn:
      write_yarn(rope, keys);
  }
  keys.set("rope.scaling.original_context_length", rope.trained_positions);
}

}  // namespace heed
