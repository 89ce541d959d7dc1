// The settings that affect a decoder's computation, to compare a model with its GGUF file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/wording.h"
#include "models/config.h"
#include "models/decoder.h"
#include "models/gguf_architecture.h"
#include "nn/norm.h"
#include "nn/rotation.h"

namespace heed {
namespace {

std::string described(const RopeScaling& rope) {
  constexpr std::array kKinds = {"none", "linear", "dynamic", "llama3", "yarn", "longrope"};
  std::string text =
      fmt::format("{} of {}, base {:.5g}", rope.width,
                  rope.pairs == RopePairs::kHalves ? "halves" : "neighbours", rope.base);
  if (rope.kind == RopeScalingKind::kNone) return text;
  // Rounds like a file.
  const auto five_digits = [](double factor) {
    return fmt::format("{:.5g}", static_cast<float>(factor));
  };
  if (const std::vector<double> factors = fixed_rope_factors(rope); !factors.empty())
    return text + fmt::format(", length {:.5g}, divided by {}", rope.length,
                              joined(factors, " ", five_digits));
  text += fmt::format(", {}, factor {:.5g}", kKinds.at(static_cast<std::size_t>(rope.kind)),
                      rope.factor);
  if (rope.kind == RopeScalingKind::kLinear) return text;
  text += fmt::format(", from {}, length {:.5g}", rope.trained_positions, rope.length);
  if (rope.kind == RopeScalingKind::kYarn)
    text += fmt::format(", {:.5g} to {:.5g}{}", rope.beta_fast, rope.beta_slow,
                        rope.rounded_ramp ? "" : ", not rounded");
  if (rope.kind == RopeScalingKind::kLong)
    text += fmt::format(", {}, then {}", joined(rope.short_factors, " ", five_digits),
                        joined(rope.long_factors, " ", five_digits));
  return text;
}

// One value for all layers, or one per layer.
std::string by_layer(const DecoderShape& shape, auto of) {
  std::vector<std::string> values;
  for (const DecoderLayer& layer : shape.of_layers) values.push_back(of(layer));
  const bool alike = std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
  return alike && !values.empty() ? values.front() : joined(values, "; ") + " (by layer)";
}

std::string number(double value) { return fmt::format("{:.5g}", value); }

std::string described(const NormShape& norm) {
  return fmt::format("{}, epsilon {:.5g}{}{}{}", norm.centred ? "LayerNorm" : "RMSNorm",
                     norm.epsilon, norm.weight ? "" : ", no scale",
                     norm.bias || !norm.centred ? "" : ", no shift",
                     norm.offset == 0 ? "" : ", + 1");
}

std::string sizes_of(const DecoderShape& shape) {
  return fmt::format("{} layers, {} heads of {}, {} of keys, {} wide, {} inside, {} words",
                     shape.layers, shape.heads, shape.head_dim, shape.kv_heads, shape.width,
                     shape.inner, shape.vocabulary);
}

// A window as long as the longest text hides nothing.
std::string windows_of(const DecoderShape& shape) {
  return by_layer(shape, [&](const DecoderLayer& layer) {
    return layer.window < shape.positions ? fmt::to_string(layer.window) : "0";
  });
}

std::string rotations_of(const DecoderShape& shape) {
  return by_layer(shape, [&](const DecoderLayer& layer) {
    return layer.rotation ? described(shape.rotations[*layer.rotation]) : "none";
  });
}

std::string experts_of(const DecoderShape& shape) {
  return by_layer(shape, [&](const DecoderLayer& layer) {
    const ExpertsShape& experts = shape.experts;
    if (!layer.has_experts) return std::string("none");
    return fmt::format("{} of {}, {} inside, {} for all tokens{}{}", experts.chosen, experts.count,
                       experts.inner, experts.shared_inner,
                       experts.sums_to_one ? "" : ", weights as they are",
                       experts.limit == 0 ? "" : fmt::format(", limit {:.5g}", experts.limit));
  });
}

}  // namespace

std::string gguf_fact(bool is) { return is ? "true" : "false"; }

std::vector<GgufFact> gguf_facts(const DecoderShape& shape) {
  return {{"the list of sizes", sizes_of(shape)},
          {"sliding_window", windows_of(shape)},
          {"the scale of scores",
           by_layer(shape, [](const DecoderLayer& layer) { return number(layer.scale); })},
          {"the rotation of positions", rotations_of(shape)},
          {"alibi", gguf_fact(shape.alibi)},
          {"the number of positions", fmt::to_string(shape.positions)},
          {"the kind of norm", described(shape.norm)},
          {"a norm of queries and keys", gguf_fact(*shape.names.q_norm != '\0')},
          {"the activation", std::string(activation_name(shape.activation))},
          {"the cap of scores", number(shape.score_cap)},
          {"the cap of logits", number(shape.logit_cap)},
          {"the scale of logits", number(shape.logit_scale)},
          {"the scale of embeddings", number(shape.embedding_scale)},
          {"the scale of what branches add", number(shape.branch_scale)},
          {"clip_qkv", number(shape.clip)},
          {"the set of experts", experts_of(shape)},
          {"a bias of q, k and v", gguf_fact(shape.qkv_bias)},
          {"a bias behind the attention", gguf_fact(shape.out_bias)},
          {"a bias in the MLP", gguf_fact(shape.mlp_bias)},
          {"use_parallel_residual", gguf_fact(shape.parallel)},
          {"is_causal", gguf_fact(shape.causal)},
          {"a head for words", gguf_fact(shape.has_words)}};
}

}  // namespace heed
