// Reads the keys that decoder configurations share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/decoder.h"
#include "models/text_pass.h"
#include "models/training_config.h"

namespace heed {
namespace {

// A decoder has an entry per layer, so the number of layers is bounded.
constexpr std::int64_t kMostLayers = 10000;

// FooModel and heads for other tasks have none; a file that does not say must have them.
bool wants_words(const Config& config) {
  const std::vector<std::string> said = config.texts("architectures");
  return said.empty() || std::ranges::any_of(said, [](const std::string& name) {
           return name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel");
         });
}

void read_extents(const Config& config, const UsualKeys& usual, DecoderShape& shape) {
  shape.layers = config.extent(usual.layers_key, usual.layers);
  if (shape.layers > kMostLayers)
    config.refuse(usual.layers_key, shape.layers, fmt::format("at most {}", kMostLayers));
  shape.heads = config.heads(usual.heads_key, usual.heads);
  shape.width = config.extent(usual.width_key, usual.width);
  shape.kv_heads = shape.heads;
  shape.head_dim = std::max<std::int64_t>(shape.width / shape.heads, 1);
  if (!usual.heads_alike) {
    const bool is_shared = usual.kv_heads != 0 && !config.null("num_key_value_heads");
    shape.kv_heads = config.extent("num_key_value_heads", is_shared ? usual.kv_heads : shape.heads);
    shape.head_dim =
        config.extent("head_dim", usual.head_dim == 0 ? shape.head_dim : usual.head_dim);
  }
  shape.inner = usual.inner == 0 ? 4 * shape.width : usual.inner;
  if (usual.inner_key != nullptr) shape.inner = config.extent(usual.inner_key, shape.inner);
  shape.vocabulary = config.extent("vocab_size", usual.vocabulary);
  shape.positions = config.extent(usual.positions_key, usual.positions);
}

void check(const Config& config, const UsualKeys& usual, const DecoderShape& shape) {
  if (usual.head_dim == 0 && !config.has("head_dim") && shape.width % shape.heads != 0)
    config.refuse(usual.width_key, shape.width,
                  fmt::format("a multiple of {} ({})", usual.heads_key, shape.heads));
  if (shape.heads % shape.kv_heads != 0)
    config.refuse("num_key_value_heads", shape.kv_heads,
                  fmt::format("a divisor of {} ({})", usual.heads_key, shape.heads));
  if (!(shape.deviation >= 0 && shape.deviation <= 1))
    config.refuse("initializer_range", shape.deviation, "0 to 1");
}

}  // namespace

DecoderShape read_text_part(const Config& config, const TextPart& part,
                            const std::function<DecoderShape(const Config& text)>& read) {
  const std::optional<Config> text = config.part("text_config");
  if (!text) config.refuse("text_config", "missing", "the configuration of the text model");
  DecoderShape shape = read(*text);
  shape.bos = config.id("bos_token_id", shape.bos);
  shape.eos = config.ids("eos_token_id", shape.eos);
  shape.wrappers = {"language_model.", "model.language_model."};
  shape.unused.insert(shape.unused.end(), part.unused.begin(), part.unused.end());
  Json members = {{"model_type", part.model_type},
                  {"architectures", Json::array({part.architecture})},
                  {"bos_token_id", shape.bos < 0 ? Json() : Json(shape.bos)},
                  {"eos_token_id", json_of_ids(shape.eos)}};
  if (part.has_tied) {
    shape.tied = config.flag("tie_word_embeddings", false);
    members.set("tie_word_embeddings", shape.tied);
  }
  shape.json = text->with(members);
  return shape;
}

void read_usual(const Config& config, const UsualKeys& usual, DecoderShape& shape) {
  read_extents(config, usual, shape);
  shape.norm.epsilon = usual.epsilon_key == nullptr
                           ? usual.epsilon
                           : config.not_negative(usual.epsilon_key, usual.epsilon);
  const std::string_view key = usual.epsilon_key == nullptr ? "" : usual.epsilon_key;
  shape.norm.centred = key != "rms_norm_eps";
  shape.head_norm.epsilon = shape.norm.epsilon;
  shape.head_norm.centred = shape.norm.centred;
  shape.activation = usual.activation_key == nullptr
                         ? config.activation_of("", usual.activation)
                         : config.activation(usual.activation_key, usual.activation);
  shape.attention_dropout = config.rate("attention_dropout", 0);
  shape.deviation = config.number("initializer_range", 0.02);
  shape.causal = is_causal(config);
  shape.tied = config.flag("tie_word_embeddings", usual.tied);
  shape.has_words = wants_words(config);
  shape.bos = config.id("bos_token_id", usual.bos);
  shape.eos = config.ids("eos_token_id", usual.eos);
  shape.bad_words = config.bad_words();
  check(config, usual, shape);
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  shape.of_layers.assign(static_cast<std::size_t>(shape.layers), {.scale = scale});
  shape.json = config.with(Json::object());
}

Json usual_training_config(const TrainingShape& shape, const TrainingKeys& keys) {
  if (shape.dropout > 0 && keys.dropouts.empty())
    fail("train", "dropout", shape.dropout, fmt::format("0: {} has none", shape.model_type),
         ErrorCode::kUnsupported);
  const Json end = json_of_ids(shape.end_tokens);
  Json json = {{"model_type", shape.model_type},
               {"vocab_size", shape.vocabulary},
               {keys.positions, shape.positions},
               {keys.width, shape.width},
               {keys.inner, keys.gated ? (8 * shape.width + 2) / 3 : 4 * shape.width},
               {keys.layers, shape.layers},
               {keys.heads, shape.heads},
               {keys.attention_dropout, shape.attention_dropout},
               {"pad_token_id", nullptr},  // transformers' default may be an ordinary token
               {"bos_token_id", end},
               {"eos_token_id", end}};
  if (keys.names_kv_heads) json.set("num_key_value_heads", shape.heads);
  for (const char* key : keys.dropouts) json.set(key, shape.dropout);
  if (keys.more != nullptr) keys.more(shape, json);
  return json;
}

void set_head_dim(const TrainingShape& shape, Json& json) {
  json.set("head_dim", shape.width / shape.heads);
}

void read_rotation(const Config& config, DecoderShape& shape, RopeKeys keys) {
  keys.head_dim = shape.head_dim;
  keys.positions = shape.positions;
  shape.rotations = {read_rope(config, keys)};
  if (shape.rotations[0].kind == RopeScalingKind::kDynamic) shape.positions = kAnyLength;
}

void read_two_rotations(const Config& config, double base, double local_base,
                        const std::vector<bool>& slides, DecoderShape& shape) {
  const RopeKeys keys = {.head_dim = shape.head_dim, .positions = shape.positions};
  RopeKeys whole = keys, local = keys;
  whole.base = config.positive("rope_theta", base);
  local.base = local_base;
  shape.rotations = {read_rope_of(config, "full_attention", whole, /*is_scaled=*/true),
                     read_rope_of(config, "sliding_attention", local, /*is_scaled=*/false)};
  for (const RopeScaling& rotation : shape.rotations)
    if (rotation.kind == RopeScalingKind::kDynamic) shape.positions = kAnyLength;
  for (std::size_t layer = 0; layer < slides.size(); ++layer)
    shape.of_layers[layer].rotation = slides[layer] ? 1U : 0U;
}

void read_windows(const Config& config, std::int64_t otherwise, const std::vector<bool>& slides,
                  DecoderShape& shape) {
  if (config.null("sliding_window") && std::ranges::find(slides, true) != slides.end())
    config.refuse("sliding_window", "null", "a number, as a layer has a window");
  const std::int64_t window = config.extent("sliding_window", otherwise);
  for (std::size_t layer = 0; layer < slides.size(); ++layer)
    shape.of_layers[layer].window = slides[layer] ? window : 0;
}

void read_window_of_all(const Config& config, DecoderShape& shape) {
  if (config.has("sliding_window"))
    read_windows(config, 1, std::vector<bool>(shape.of_layers.size(), true), shape);
}

void require_one_per_layer(const Config& config, const char* key, std::ptrdiff_t entries,
                           std::int64_t layers) {
  if (entries != 0 && entries != layers)
    config.refuse(key, fmt::format("a list of {}", entries),
                  fmt::format("{} entries, one per layer", layers));
}

std::vector<bool> sliding_layers(const Config& config, std::vector<bool> otherwise) {
  const std::vector<std::string> types = config.texts("layer_types");
  require_one_per_layer(config, "layer_types", std::ssize(types), std::ssize(otherwise));
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    if (types[layer] != "sliding_attention" && types[layer] != "full_attention")
      config.refuse("layer_types", fmt::format("'{}' in layer {}", types[layer], layer),
                    "full_attention or sliding_attention", ErrorCode::kUnsupported);
    otherwise[layer] = types[layer] == "sliding_attention";
  }
  return otherwise;
}

std::vector<bool> all_but_every(std::int64_t layers, std::int64_t every) {
  std::vector<bool> slides;
  for (std::int64_t layer = 1; layer <= layers; ++layer) slides.push_back(layer % every != 0);
  return slides;
}

}  // namespace heed
