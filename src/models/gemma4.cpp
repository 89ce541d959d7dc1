// Gemma 4 (Gemma team 2026): Gemma 3 with heads of two sizes, layers that read an earlier layer's
// keys and values, values that have norms or are the keys, and words of each layer. Scores are not
// scaled. The text decoder of Gemma 4 Unified is the same, without words of layers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "heed/error.h"
#include "models/decoder.h"

namespace heed {
namespace {

constexpr DecoderNames kNames = {.attention_inside = "post_attention_layernorm",
                                 .q_norm = "self_attn.q_norm",
                                 .k_norm = "self_attn.k_norm",
                                 .mlp_norm = "pre_feedforward_layernorm",
                                 .mlp_inside = "post_feedforward_layernorm",
                                 .layer_scalar = "layer_scalar",
                                 .layer_tables = "model.embed_tokens_per_layer",
                                 .layer_tables_projection = "model.per_layer_model_projection",
                                 .layer_tables_norm = "model.per_layer_projection_norm",
                                 .layer_words_gate = "per_layer_input_gate",
                                 .layer_words_out = "per_layer_projection",
                                 .layer_words_inside = "post_per_layer_input_norm"};

// Texts have no images, so tokens that see both ways within an image do not occur.
void refuse_unserved(const Config& config, bool may_have_experts) {
  if (may_have_experts && config.flag("enable_moe_block", false))
    config.refuse("enable_moe_block", "true", "false: heed does not compute experts beside an MLP",
                  ErrorCode::kUnsupported);
  const std::string both = config.text("use_bidirectional_attention", "");
  if (!both.empty() && both != "vision")
    config.refuse("use_bidirectional_attention", fmt::format("'{}'", both), "null or 'vision'",
                  ErrorCode::kUnsupported);
}

// Like transformers, the last layer has no window whatever its type.
std::vector<bool> read_slides(const Config& config, const DecoderShape& shape) {
  std::vector<bool> slides = sliding_layers(config, all_but_every(shape.layers, 6));
  slides.back() = false;
  return slides;
}

// What transformers 5.23 writes: the sizes of each layer that differ, by the layer's number. All
// numbers have as many digits as the last layer's, as in "05" of 12 layers.
void read_sizes_by_layer(const Config& sizes, DecoderShape& shape) {
  for (const std::string& key : sizes.keys()) {
    std::int64_t layer = 0;
    const bool is_layer = read_number(key, layer) && layer >= 0 && layer < shape.layers;
    const std::optional<Config> own = sizes.part(key.c_str());
    if (!is_layer || !own)
      sizes.refuse(key.c_str(), own ? "no layer's number" : "null",
                   fmt::format("the sizes of a layer from 0 to {}", shape.layers - 1));
    for (const std::string& size : own->keys())
      if (size != "head_dim" && size != "num_key_value_heads")
        own->refuse(size.c_str(), "given", "only head_dim and num_key_value_heads",
                    ErrorCode::kUnsupported);
    DecoderLayer& of_layer = shape.of_layers[static_cast<std::size_t>(layer)];
    of_layer.head_dim = own->extent("head_dim", shape.head_dim);
    of_layer.kv_heads = own->extent("num_key_value_heads", shape.kv_heads);
  }
}

void read_sizes(const Config& config, const std::vector<bool>& slides, DecoderShape& shape) {
  if (const auto sizes = config.part("per_layer_config")) {
    read_sizes_by_layer(*sizes, shape);
    return;
  }
  const std::int64_t head_dim = config.extent("global_head_dim", 512);
  if (head_dim % 2 != 0) config.refuse("global_head_dim", head_dim, "an even number");
  const std::int64_t kv_heads = config.flag("attention_k_eq_v", false)
                                    ? config.extent("num_global_key_value_heads", shape.kv_heads)
                                    : shape.kv_heads;
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    if (slides[layer]) continue;
    shape.of_layers[layer].head_dim = head_dim;
    shape.of_layers[layer].kv_heads = kv_heads;
  }
}

// Positions and shared keys need layers of one type to be alike.
void check_sizes(const Config& config, const std::vector<bool>& slides, const DecoderShape& shape) {
  const char* key =
      config.part("per_layer_config") ? "per_layer_config" : "num_global_key_value_heads";
  for (int layer = 0; layer < shape.layers; ++layer) {
    const DecoderLayer own = shape.of_layer(layer);
    if (shape.heads % own.kv_heads != 0)
      config.refuse(key, fmt::format("{} key heads in layer {}", own.kv_heads, layer),
                    fmt::format("a divisor of num_attention_heads ({})", shape.heads));
    const auto first = std::ranges::find(slides, slides[static_cast<std::size_t>(layer)]);
    const DecoderLayer alike = shape.of_layer(static_cast<int>(first - slides.begin()));
    if (own.head_dim != alike.head_dim || own.kv_heads != alike.kv_heads)
      config.refuse(key, fmt::format("other sizes in layer {}", layer),
                    "the same sizes in all layers of one type", ErrorCode::kUnsupported);
  }
}

// The last layers read the keys and values of the last layer of their type before them.
void read_sharing(const Config& config, const std::vector<bool>& slides, DecoderShape& shape) {
  constexpr const char* kKey = "num_kv_shared_layers";
  const std::int64_t shared = config.extent(kKey, 0, 0, shape.layers - 1);
  const bool wide = config.flag("use_double_wide_mlp", false);
  const std::int64_t owners = shape.layers - shared;
  for (std::int64_t layer = owners; layer < shape.layers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    std::int64_t from = owners - 1;
    while (from >= 0 && slides[static_cast<std::size_t>(from)] != slides[at]) --from;
    if (from < 0)
      config.refuse(kKey, shared,
                    fmt::format("a layer of each type among the first layers, as layer {} needs "
                                "the keys of one",
                                layer));
    shape.of_layers[at].keys_from = static_cast<int>(from);
    if (wide) shape.of_layers[at].inner = 2 * shape.inner;
  }
}

// `head_dim` is the one of layers of this type.
RopeScaling read_turns(const Config& config, const char* type, std::int64_t head_dim,
                       const DecoderShape& shape) {
  const RopeKeys keys = {
      .head_dim = head_dim, .positions = shape.positions, .may_be_proportional = true};
  const bool is_whole = std::string_view(type) == "full_attention";
  const std::optional<Config> all = config.part("rope_parameters");
  if (all && !all->part(type)) all->refuse(type, "missing", "the positions of these layers");
  RopeScaling rope = read_rope_of(config, type, keys, /*is_scaled=*/false);
  if (all) return rope;
  rope.base = is_whole ? 1000000 : 10000;
  if (!is_whole) return rope;
  rope.kind = RopeScalingKind::kProportional;
  rope.turning = head_dim / 8;
  return rope;
}

void read_turns_of_types(const Config& config, const std::vector<bool>& slides,
                         DecoderShape& shape) {
  for (const bool slide : {false, true}) {
    const auto first = std::ranges::find(slides, slide);
    if (first == slides.end()) continue;
    const std::int64_t head_dim = shape.of_layer(static_cast<int>(first - slides.begin())).head_dim;
    for (std::size_t layer = 0; layer < slides.size(); ++layer)
      if (slides[layer] == slide) shape.of_layers[layer].rotation = shape.rotations.size();
    shape.rotations.push_back(
        read_turns(config, slide ? "sliding_attention" : "full_attention", head_dim, shape));
  }
  for (const RopeScaling& rotation : shape.rotations)
    if (rotation.kind == RopeScalingKind::kDynamic) shape.positions = kAnyLength;
}

void read_layer_words(const Config& config, DecoderShape& shape) {
  constexpr const char* kWords = "vocab_size_per_layer_input";
  if (!config.null("hidden_size_per_layer_input"))
    shape.layer_words = config.extent("hidden_size_per_layer_input", 256, 0);
  shape.layer_vocabulary = config.extent(kWords, 262144);
  if (shape.layer_words > 0 && shape.layer_vocabulary < shape.vocabulary)
    config.refuse(kWords, shape.layer_vocabulary,
                  fmt::format("at least vocab_size ({})", shape.vocabulary));
}

// The models, and what differs between their defaults.
struct Member {
  const char* model_type;
  const char* architecture;
  std::int64_t positions;
  std::int64_t window;
  bool has_layer_words;  // and its configuration can ask for experts
};
constexpr Member kGemma4 = {"gemma4_text", "Gemma4ForCausalLM", 131072, 512, true};
constexpr Member kUnified = {"gemma4_unified_text", "Gemma4UnifiedForCausalLM", 262144, 1024,
                             false};

DecoderShape read_member(const Config& config, const Member& member) {
  refuse_unserved(config, member.has_layer_words);
  DecoderShape shape{.family = "gemma4", .title = "Gemma 4", .names = kNames};
  read_usual(config,
             {.layers = 30,
              .heads = 8,
              .kv_heads = 4,
              .width = 2304,
              .head_dim = 256,
              .inner = 9216,
              .vocabulary = 262144,
              .positions = member.positions,
              .activation_key = "hidden_activation",
              .activation = "gelu_pytorch_tanh",
              .tied = true,
              .bos = 2,
              .eos = {1}},
             shape);
  shape.head_norm.width = shape.head_dim;
  shape.norms_values = true;
  shape.embedding_scale = std::sqrt(static_cast<double>(shape.width));
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  if (!config.null("final_logit_softcapping") && config.has("final_logit_softcapping"))
    shape.logit_cap = config.positive("final_logit_softcapping", 30);
  const std::vector<bool> slides = read_slides(config, shape);
  read_windows(config, member.window, slides, shape);
  read_sizes(config, slides, shape);
  check_sizes(config, slides, shape);
  read_sharing(config, slides, shape);
  read_turns_of_types(config, slides, shape);
  if (member.has_layer_words) read_layer_words(config, shape);
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    shape.of_layers[layer].scale = 1;
    shape.of_layers[layer].keys_are_values = keys_are_values && !slides[layer];
  }
  return shape;
}

DecoderShape read_with_pictures(const Config& config, const Member& member) {
  return read_text_part(
      config,
      {.model_type = member.model_type,
       .architecture = member.architecture,
       .unused = {"vision_tower.", "audio_tower.", "embed_vision.", "embed_audio."}},
      [&](const Config& text) { return read_member(text, member); });
}

DecoderShape read_gemma4(const Config& config) { return read_member(config, kGemma4); }
DecoderShape read_unified(const Config& config) { return read_member(config, kUnified); }
DecoderShape read_gemma4_of_all(const Config& config) {
  return read_with_pictures(config, kGemma4);
}
DecoderShape read_unified_of_all(const Config& config) {
  return read_with_pictures(config, kUnified);
}

// All heads have one size, and no layer reads another's keys.
void set_unified(const TrainingShape& shape, Json& json) {
  set_head_dim(shape, json);
  json.set("global_head_dim", shape.width / shape.heads);
  json.set("sliding_window", (shape.positions + 1) / 2);
  json.set("num_kv_shared_layers", 0);
}
void set_gemma4(const TrainingShape& shape, Json& json) {
  set_unified(shape, json);
  json.set("hidden_size_per_layer_input", std::max<std::int64_t>(shape.width / 4, 1));
  json.set("vocab_size_per_layer_input", shape.vocabulary);
}

}  // namespace

std::vector<Family> gemma4_families() {
  return {
      decoder_family<read_gemma4>({"gemma4_text"}, {.names_kv_heads = true, .more = set_gemma4}),
      decoder_family<read_gemma4_of_all>({"gemma4"}, nullptr),
      decoder_family<read_unified>({"gemma4_unified_text"},
                                   {.names_kv_heads = true, .more = set_unified}),
      decoder_family<read_unified_of_all>({"gemma4_unified"}, nullptr)};
}

}  // namespace heed
