// Qwen3.5 (Qwen team 2026): in most layers a gated delta rule takes the place of attention. The
// other layers have gated heads, norms of queries and keys, and rotary positions in a part of each
// head. Norms' files hold the scale minus 1.
#include <fmt/format.h>

#include <algorithm>

#include "models/decoder.h"

namespace heed {
namespace {

// Without a list, every `full_attention_interval`-th layer has attention.
void read_kinds(const Config& config, DecoderShape& shape) {
  constexpr const char* kKey = "layer_types";
  const std::vector<std::string> types = config.texts(kKey);
  require_one_per_layer(config, kKey, std::ssize(types), shape.layers);
  const std::int64_t every = config.extent("full_attention_interval", 4);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    bool& is_recurrent = shape.of_layers[at].is_recurrent;
    is_recurrent = types.empty() ? (layer + 1) % every != 0 : types[at] == "linear_attention";
    if (!types.empty() && !is_recurrent && types[at] != "full_attention")
      config.refuse(kKey, fmt::format("'{}' in layer {}", types[at], layer),
                    "full_attention or linear_attention", ErrorCode::kUnsupported);
  }
  if (std::ranges::all_of(shape.of_layers, &DecoderLayer::is_recurrent))
    config.refuse(types.empty() ? "full_attention_interval" : kKey,
                  fmt::format("{} layers of linear attention", shape.layers),
                  "at least one layer with full attention", ErrorCode::kUnsupported);
}

void read_delta_rule(const Config& config, DecoderShape& shape) {
  // Their products are widths, so each is bounded.
  constexpr std::int64_t kMost = std::int64_t{1} << 15;
  const auto extent = [&](const char* key, std::int64_t otherwise) {
    return config.extent(key, otherwise, 1, kMost);
  };
  shape.delta_rule = {.heads = extent("linear_num_value_heads", 32),
                      .key_heads = extent("linear_num_key_heads", 16),
                      .key_dim = extent("linear_key_head_dim", 128),
                      .value_dim = extent("linear_value_head_dim", 128),
                      .kernel = extent("linear_conv_kernel_dim", 4),
                      .activation = shape.activation,
                      .epsilon = shape.norm.epsilon};
  if (shape.delta_rule.heads % shape.delta_rule.key_heads != 0)
    config.refuse(
        "linear_num_value_heads", shape.delta_rule.heads,
        fmt::format("a multiple of linear_num_key_heads ({})", shape.delta_rule.key_heads));
}

DecoderShape read_qwen3_5(const Config& config) {
  DecoderShape shape{.family = "qwen3_5",
                     .title = "Qwen3.5",
                     .names = {.q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm"}};
  read_usual(config,
             {.layers = 32,
              .heads = 16,
              .kv_heads = 4,
              .width = 4096,
              .head_dim = 256,
              .inner = 12288,
              .vocabulary = 248320,
              .positions = 32768},
             shape);
  if (!shape.causal) config.refuse("is_causal", "false", "true", ErrorCode::kUnsupported);
  shape.norm.offset = shape.head_norm.offset = 1;
  shape.head_norm.width = shape.head_dim;
  shape.gated = true;
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  shape.unused = {"mtp."};  // a head that drafts further tokens
  read_rotation(config, shape, {.share = 0.25});
  read_kinds(config, shape);
  read_delta_rule(config, shape);
  return shape;
}

DecoderShape read_qwen3_5_with_pictures(const Config& config) {
  return read_text_part(config,
                        {.model_type = "qwen3_5_text",
                         .architecture = "Qwen3_5ForCausalLM",
                         .unused = {"visual."},
                         .has_tied = true},
                        read_qwen3_5);
}

void set_qwen3_5(const TrainingShape& shape, Json& json) {
  set_head_dim(shape, json);
  for (const char* heads : {"linear_num_key_heads", "linear_num_value_heads"})
    json.set(heads, shape.heads);
  for (const char* width : {"linear_key_head_dim", "linear_value_head_dim"})
    json.set(width, shape.width / shape.heads);
}

}  // namespace

std::vector<Family> qwen3_5_families() {
  return {
      decoder_family<read_qwen3_5>({"qwen3_5_text"}, {.names_kv_heads = true, .more = set_qwen3_5}),
      decoder_family<read_qwen3_5_with_pictures>({"qwen3_5"}, nullptr)};
}

}  // namespace heed
