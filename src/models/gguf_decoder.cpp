// GGUF files of decoders: from a description (gguf_architecture.cpp) and the family's
// `DecoderShape`, computes the configuration of a file and the keys of a configuration.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "heed/error.h"
#include "models/config.h"
#include "models/decoder.h"
#include "models/gguf_architecture.h"

namespace heed {
namespace {

// --- a file's keys as config.json ---

const char* epsilon_key(const GgufDecoder& decoder) {
  return decoder.centred ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
}

void set_sizes(const GgufDecoder& decoder, const GgufKeys& keys, Json& config) {
  const TrainingKeys& names = decoder.sizes;
  const std::int64_t heads = keys.count("attention.head_count"),
                     width = keys.count("embedding_length");
  const std::int64_t head_dim = keys.head_dim();
  config.set(names.positions, keys.has_tensor("position_embd.weight")
                                  ? keys.extent("position_embd.weight", 0)
                                  : keys.count("context_length"));
  config.set(names.width, width);
  config.set(names.inner, keys.count("feed_forward_length"));
  config.set(names.layers, keys.count("block_count"));
  config.set(names.heads, heads);
  if (!decoder.heads_alike) {
    config.set("num_key_value_heads", keys.count("attention.head_count_kv", heads));
    config.set("head_dim", head_dim);
  }
  if (keys.count("attention.value_length", head_dim) != head_dim)
    keys.refuse(keys.name("attention.value_length"), keys.count("attention.value_length"),
                fmt::format("{}, as the keys have", head_dim), ErrorCode::kUnsupported);
  if (decoder.epsilon != nullptr) config.set(decoder.epsilon, keys.number(epsilon_key(decoder)));
}

void set_special_tokens(const GgufKeys& keys, Json& config) {
  config.set("bos_token_id", keys.id("tokenizer.ggml.bos_token_id"));
  config.set("pad_token_id", keys.id("tokenizer.ggml.padding_token_id"));
  Json ends = Json::array();
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
    if (const Json id = keys.id(key);
        !id.is_null() && std::ranges::find(ends.items(), id) == ends.items().end())
      ends.push(id);
  config.set("eos_token_id", ends.items().empty() ? Json() : ends);
}

void set_values(const GgufDecoder& decoder, const GgufKeys& keys, Json& config) {
  for (const GgufValue& value : decoder.values) {
    if (!keys.has(value.stored) && value.otherwise.is_null()) continue;
    if (value.is_count)
      config.set(value.hub, keys.count(value.stored));
    else if (const std::optional<bool> flag = value.otherwise.as_flag())
      config.set(value.hub, keys.flag(value.stored, *flag));
    else
      config.set(value.hub, keys.number(value.stored, value.otherwise.as_number()));
  }
  for (const GgufSign& sign : decoder.signs)
    config.set(sign.hub, keys.has_tensor(fmt::format("blk.0.{}", sign.tensor)) != sign.absent);
  for (const auto& [key, value] : decoder.fixed.members()) config.set(key, value);
  if (!keys.flag("attention.causal", true)) config.set("is_causal", false);
}

// 0: no layer has a window.
std::int64_t window_of(const GgufDecoder& decoder, const GgufKeys& keys) {
  constexpr const char* kKey = "attention.sliding_window";
  if (!keys.has(kKey)) return decoder.window;
  const std::optional<std::int64_t> window = keys.value(kKey).as_whole_number();
  if (!window || *window < 0 || *window > (std::int64_t{1} << 30))
    keys.refuse(keys.name(kKey), keys.value(kKey).brief(), "a whole number from 0");
  return *window;
}

// Which layers have a window: by a list of flags, or all except the last of each period.
std::vector<bool> sliding_layers(const GgufDecoder& decoder, const GgufKeys& keys) {
  constexpr const char* kKey = "attention.sliding_window_pattern";
  const std::int64_t layers = keys.count("block_count");
  const Json& pattern = keys.value(kKey);
  if (!pattern.is_array()) return all_but_every(layers, keys.count(kKey, decoder.period));
  std::vector<bool> slides;
  for (const Json& item : pattern.items())
    slides.push_back(item.as_flag().value_or(item.as_whole_number().value_or(0) != 0));
  if (std::ssize(slides) != layers)
    keys.refuse(keys.name(kKey), fmt::format("a list of {}", slides.size()),
                fmt::format("{} flags, one a layer", layers));
  return slides;
}

std::vector<bool> set_windows(const GgufDecoder& decoder, const GgufKeys& keys, Json& config) {
  if (decoder.period == 0) return {};
  const std::int64_t window = window_of(decoder, keys);
  std::vector<bool> slides(static_cast<std::size_t>(keys.count("block_count")), false);
  if (window != 0) slides = sliding_layers(decoder, keys);
  if (window != 0) config.set("sliding_window", window);
  if (decoder.period == kAllSlide) return slides;
  Json types = Json::array();
  for (const bool slide : slides) types.push(slide ? "sliding_attention" : "full_attention");
  config.set("layer_types", std::move(types));
  return slides;
}

}  // namespace

Json gguf_decoder_config(const GgufArchitecture& architecture, const GgufKeys& keys) {
  const GgufDecoder& decoder = architecture.decoder;
  const bool has_experts = keys.has("expert_count") && keys.number("expert_count") > 0;
  if (has_experts && decoder.experts == nullptr)
    keys.refuse(keys.name("expert_count"), keys.number("expert_count"),
                "none: models of this kind have no experts", ErrorCode::kUnsupported);
  Json config = {{"model_type", architecture.model_types.front()},
                 {"architectures", Json::array({decoder.class_name})},
                 {"vocab_size", keys.extent("token_embd.weight", 0)},
                 {"tie_word_embeddings", !keys.has_tensor("output.weight")}};
  set_sizes(decoder, keys, config);
  set_special_tokens(keys, config);
  set_values(decoder, keys, config);
  const std::vector<bool> slides = set_windows(decoder, keys, config);
  if (decoder.rotates) read_gguf_rope(decoder, keys, slides, config);
  if (has_experts) {
    config.set(decoder.experts, keys.count("expert_count"));
    config.set("num_experts_per_tok", keys.count("expert_used_count"));
  }
  if (decoder.finish != nullptr) decoder.finish(keys, config);
  return config;
}

// --- the way back ---

namespace {

// The key's number or flag as stored in a file; null if neither side has it.
Json said(const Config& config, const GgufValue& value) {
  if (const std::optional<bool> flag = value.otherwise.as_flag())
    return config.flag(value.hub, *flag);
  if (!config.has(value.hub)) return value.otherwise;
  if (value.is_count) return config.extent(value.hub, 1);
  return config.number(value.hub, 0);
}

void add_windows(const GgufDecoder& decoder, const DecoderShape& shape, Json& keys) {
  std::int64_t window = 0;
  Json pattern = Json::array();
  for (const DecoderLayer& layer : shape.of_layers) {
    window = std::max(window, layer.window);
    pattern.push(layer.window != 0);
  }
  keys.set("attention.sliding_window", window);
  if (window != 0 && decoder.lists_windows) keys.set("attention.sliding_window_pattern", pattern);
}

}  // namespace

GgufWritten gguf_decoder_keys(const GgufArchitecture& architecture, const Config& config,
                              const DecoderShape& shape) {
  const GgufDecoder& decoder = architecture.decoder;
  GgufWritten written = {.keys = {{"vocab_size", shape.vocabulary},
                                  {"context_length", shape.positions},
                                  {"embedding_length", shape.width},
                                  {"feed_forward_length", shape.inner},
                                  {"block_count", shape.layers},
                                  {"attention.head_count", shape.heads},
                                  {"attention.head_count_kv", shape.kv_heads},
                                  {"attention.key_length", shape.head_dim},
                                  {"attention.value_length", shape.head_dim},
                                  {epsilon_key(decoder), shape.norm.epsilon}}};
  if (!shape.causal) written.keys.set("attention.causal", false);
  for (const GgufValue& value : decoder.values)
    if (Json found = said(config, value); !found.is_null())
      written.keys.set(value.stored, std::move(found));
  if (shape.experts.count != 0) {
    written.keys.set("expert_count", shape.experts.count);
    written.keys.set("expert_used_count", shape.experts.chosen);
  }
  if (decoder.period != 0) add_windows(decoder, shape, written.keys);
  if (!shape.rotations.empty()) write_gguf_rope(architecture, shape, written);
  return written;
}

}  // namespace heed
