// What a decoder computes by, to compare a model with what a GGUF file says of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>

#include "models/gguf_architecture.h"

namespace heed {
namespace {

std::string described(const RopeScaling& rope) {
  constexpr std::array kKinds = {"none", "linear", "dynamic", "llama3", "yarn", "longrope"};
  std::string text = fmt::format("{} of {}, base {:.5g}, {}", rope.width,
                                 rope.pairs == RopePairs::kHalves ? "halves" : "neighbours",
                                 rope.base, kKinds.at(static_cast<std::size_t>(rope.kind)));
  if (rope.kind == RopeScalingKind::kNone) return text;
  text += fmt::format(", factor {:.5g}", rope.factor);
  if (rope.kind == RopeScalingKind::kLinear) return text;
  text += fmt::format(", from {}, length {:.5g}", rope.trained_positions, rope.length);
  if (rope.kind == RopeScalingKind::kLlama3)
    text +=
        fmt::format(", {:.5g} to {:.5g}", rope.low_frequency_factor, rope.high_frequency_factor);
  if (rope.kind == RopeScalingKind::kYarn)
    text += fmt::format(", {:.5g} to {:.5g}{}", rope.beta_fast, rope.beta_slow,
                        rope.rounded_ramp ? "" : ", not rounded");
  if (rope.kind == RopeScalingKind::kLong)
    text += fmt::format(", {:.5g}, then {:.5g}", fmt::join(rope.short_factors, " "),
                        fmt::join(rope.long_factors, " "));
  return text;
}

// One value for all layers, or those of each.
template <typename Of>
std::string by_layer(const DecoderShape& shape, Of of) {
  std::vector<std::string> values;
  for (const DecoderLayer& layer : shape.of_layers) values.push_back(of(layer));
  const bool alike = std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
  return alike && !values.empty() ? values.front() : fmt::format("{}", fmt::join(values, ", "));
}

std::string number(double value) { return fmt::format("{:.5g}", value); }

std::string described(const NormShape& norm) {
  return fmt::format("{}, epsilon {:.5g}{}{}{}", norm.centred ? "LayerNorm" : "RMSNorm",
                     norm.epsilon, norm.weight ? "" : ", no scale",
                     norm.bias || !norm.centred ? "" : ", no shift",
                     norm.offset == 0 ? "" : ", + 1");
}

}  // namespace

std::vector<GgufFact> gguf_facts(const DecoderShape& shape) {
  const auto flag = [](bool is) { return std::string(is ? "true" : "false"); };
  return {{"the list of sizes",
           fmt::format("{} layers, {} heads of {}, {} of keys, {} wide, {} inside, {} words",
                       shape.layers, shape.heads, shape.head_dim, shape.kv_heads, shape.width,
                       shape.inner, shape.vocabulary)},
          {"sliding_window", by_layer(shape,
                                      [&](const DecoderLayer& layer) {
                                        return layer.window < shape.positions
                                                   ? fmt::to_string(layer.window)
                                                   : "0";
                                      })},
          {"the scale of scores",
           by_layer(shape, [](const DecoderLayer& layer) { return number(layer.scale); })},
          {"the rotation of positions",
           by_layer(shape,
                    [&](const DecoderLayer& layer) {
                      return layer.rotation ? described(shape.rotations[*layer.rotation]) : "none";
                    })},
          {"the number of positions", fmt::to_string(shape.positions)},
          {"the norms", described(shape.norm)},
          {"the activation", fmt::to_string(static_cast<int>(shape.activation))},
          {"the cap of scores", number(shape.score_cap)},
          {"the cap of logits", number(shape.logit_cap)},
          {"the scale of logits", number(shape.logit_scale)},
          {"the scale of embeddings", number(shape.embedding_scale)},
          {"the biases of q, k and v", flag(shape.qkv_bias)},
          {"the bias behind the attention", flag(shape.out_bias)},
          {"the biases of the MLP", flag(shape.mlp_bias)},
          {"use_parallel_residual", flag(shape.parallel)},
          {"is_causal", flag(shape.causal)},
          {"a head for words", flag(shape.has_words)}};
}

}  // namespace heed
