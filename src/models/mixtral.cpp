// Decoders with experts as MLPs: Mixtral (Jiang et al. 2024), Qwen 1.5, 2 and 3 with experts, OLMoE
// (Muennighoff et al. 2024), gpt-oss (OpenAI 2025).
#include <fmt/format.h>

#include <algorithm>

#include "models/decoder.h"
#include "models/training_config.h"

namespace heed {
namespace {

// Each expert needs an entry before memory is allocated, so their number is bounded.
constexpr std::int64_t kMostExperts = 10000;

struct ExpertKeys {
  std::int64_t count = 0, chosen = 0;
  const char* inner_key = "moe_intermediate_size";
  std::int64_t inner = 0;
};

// Every layer has experts unless the caller says otherwise.
void read_experts(const Config& config, const ExpertKeys& keys, DecoderShape& shape) {
  ExpertsShape& experts = shape.experts;
  const char* count_key = config.has("num_experts") ? "num_experts" : "num_local_experts";
  experts.count = config.extent(count_key, keys.count);
  if (experts.count > kMostExperts)
    config.refuse(count_key, experts.count, fmt::format("at most {}", kMostExperts));
  experts.chosen = config.extent("num_experts_per_tok", keys.chosen);
  if (experts.chosen > experts.count)
    config.refuse("num_experts_per_tok", experts.chosen,
                  fmt::format("at most {} ({})", count_key, experts.count));
  experts.inner = config.extent(keys.inner_key, keys.inner);
  for (DecoderLayer& layer : shape.of_layers) layer.has_experts = true;
}

DecoderShape read_mixtral(const Config& config) {
  DecoderShape shape{.family = "mixtral",
                     .title = "Mixtral",
                     .names = {.router = "block_sparse_moe.gate",
                               .experts = "block_sparse_moe.experts.",
                               .expert_gate = "w1",
                               .expert_up = "w3",
                               .expert_down = "w2"}};
  read_usual(config,
             {.layers = 32,
              .heads = 32,
              .kv_heads = 8,
              .width = 4096,
              .inner = 14336,
              .vocabulary = 32000,
              .positions = 131072,
              .epsilon = 1e-5,
              .bos = 1,
              .eos = {2}},
             shape);
  read_experts(config, {.count = 8, .chosen = 2, .inner_key = "intermediate_size", .inner = 14336},
               shape);
  read_rotation(config, shape, {.base = 1000000});
  read_window_of_all(config, shape);
  return shape;
}

// Layers in `mlp_only_layers` have one MLP, and so do all except every `decoder_sparse_step`-th.
void read_dense_layers(const Config& config, DecoderShape& shape) {
  const std::vector<std::int64_t> dense = config.ids("mlp_only_layers", {});
  const std::int64_t every = config.extent("decoder_sparse_step", 1);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    shape.of_layers[static_cast<std::size_t>(layer)].has_experts =
        (layer + 1) % every == 0 && std::ranges::find(dense, layer) == dense.end();
}

void read_qwen_windows(const Config& config, bool is_third, DecoderShape& shape) {
  const bool is_on = config.flag("use_sliding_window", false) && !config.null("sliding_window");
  const std::int64_t most = config.extent("max_window_layers", 28, /*least=*/0);
  std::vector<bool> slides;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    slides.push_back(is_on && (is_third || (layer % 2 == 0 && layer < most)));
  if (!is_third) slides = sliding_layers(config, std::move(slides));
  if (std::ranges::find(slides, true) == slides.end()) return;
  if (!is_on)
    config.refuse("use_sliding_window", "false",
                  "true, as `layer_types` names layers with a window");
  read_windows(config, 4096, slides, shape);
}

DecoderShape read_qwen_moe(const Config& config) {
  const bool is_third = config.text("model_type", "") == "qwen3_moe";
  DecoderShape shape{.family = is_third ? "qwen3_moe" : "qwen2_moe",
                     .title = is_third ? "Qwen3 MoE" : "Qwen2 MoE"};
  read_usual(config,
             {.layers = 24,
              .heads = is_third ? 32 : 16,
              .kv_heads = is_third ? 4 : 16,
              .width = 2048,
              .inner = is_third ? 6144 : 5632,
              .vocabulary = 151936,
              .positions = 32768},
             shape);
  if (is_third) {
    shape.names.q_norm = "self_attn.q_norm";
    shape.names.k_norm = "self_attn.k_norm";
    shape.head_norm.width = shape.head_dim;
    shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  } else {
    shape.names.shared = "mlp.shared_expert.";
    shape.names.shared_gate = "mlp.shared_expert_gate";
    shape.experts.shared_inner = config.extent("shared_expert_intermediate_size", 5632);
    shape.qkv_bias = config.flag("qkv_bias", true);
  }
  read_experts(
      config,
      {.count = is_third ? 128 : 60, .chosen = is_third ? 8 : 4, .inner = is_third ? 768 : 1408},
      shape);
  shape.experts.sums_to_one = config.flag("norm_topk_prob", false);
  read_dense_layers(config, shape);
  read_rotation(config, shape);
  read_qwen_windows(config, is_third, shape);
  return shape;
}

DecoderShape read_olmoe(const Config& config) {
  DecoderShape shape{.family = "olmoe",
                     .title = "OLMoE",
                     .names = {.q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm"}};
  read_usual(config,
             {.layers = 16,
              .heads = 16,
              .width = 2048,
              .inner = 2048,
              .vocabulary = 50304,
              .positions = 4096,
              .epsilon = 1e-5,
              .eos = {50279}},
             shape);
  if (config.has("clip_qkv")) shape.clip = config.positive("clip_qkv", 1);
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", false);
  read_experts(config, {.count = 64, .chosen = 8, .inner_key = "intermediate_size", .inner = 2048},
               shape);
  shape.experts.sums_to_one = config.flag("norm_topk_prob", false);
  read_rotation(config, shape);
  return shape;
}

// Without `rope_parameters`, positions are scaled as in the published models.
void read_gpt_oss_rotation(const Config& config, DecoderShape& shape) {
  static constexpr const char* kUsual = R"({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0,
    "beta_slow": 1.0, "truncate": false, "original_max_position_embeddings": 4096})";
  const RopeKeys keys = {.base = 150000};
  if (config.has("rope_parameters") || config.has("rope_scaling"))
    return read_rotation(config, shape, keys);
  const std::optional<Config> usual = Config::parse(kUsual, "config");
  shape.rotations = {read_rope(config, usual,
                               {.head_dim = shape.head_dim,
                                .positions = shape.positions,
                                .base = config.positive("rope_theta", keys.base)})};
}

DecoderShape read_gpt_oss(const Config& config) {
  DecoderShape shape{.family = "gpt_oss",
                     .title = "gpt-oss",
                     .names = {.sinks = "self_attn.sinks",
                               .router = "mlp.router",
                               .expert_gate = "",
                               .expert_up = "gate_up_proj"}};
  read_usual(config,
             {.layers = 36,
              .heads = 64,
              .kv_heads = 8,
              .width = 2880,
              .head_dim = 64,
              .inner = 2880,
              .vocabulary = 201088,
              .positions = 131072,
              .activation_key = nullptr,
              .activation = "quick_gelu",
              .epsilon = 1e-5},
             shape);
  // x sigmoid(1.702 x) is Quick GELU.
  if (const double slope = config.number("swiglu_alpha", 1.702); slope != 1.702)
    config.refuse("swiglu_alpha", slope, "1.702", ErrorCode::kUnsupported);
  shape.qkv_bias = shape.out_bias = config.flag("attention_bias", true);
  read_experts(config, {.count = 128, .chosen = 4, .inner_key = "intermediate_size", .inner = 2880},
               shape);
  shape.experts.limit = config.positive("swiglu_limit", 7);
  shape.experts.bias = shape.experts.stacked = true;
  if (config.has("quantization_config"))  // the saved model is not quantised
    shape.json = config.with({{"quantization_config", nullptr}});
  read_gpt_oss_rotation(config, shape);
  std::vector<bool> slides;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) slides.push_back(layer % 2 == 0);
  read_windows(config, 128, sliding_layers(config, std::move(slides)), shape);
  return shape;
}

// Eight experts, two per token. Two of half the usual width compute as much as one MLP; torch's
// products of experts need widths that are multiples of 8.
void set_experts(const TrainingShape& shape, Json& json) {
  const std::int64_t inner = (4 * shape.width / 3 + 7) / 8 * 8;
  const bool is_local = shape.model_type == "mixtral" || shape.model_type == "gpt_oss";
  json.set(is_local ? "num_local_experts" : "num_experts", 8);
  json.set("num_experts_per_tok", 2);
  for (const char* key :
       {"intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size"})
    json.set(key, inner);
}

}  // namespace

std::vector<Family> mixtral_families() {
  const TrainingKeys keys = {.names_kv_heads = true, .more = set_experts};
  return {decoder_family<read_mixtral>({"mixtral"}, keys),
          decoder_family<read_qwen_moe>({"qwen2_moe", "qwen3_moe"}, keys),
          decoder_family<read_olmoe>({"olmoe"}, keys),
          decoder_family<read_gpt_oss>({"gpt_oss"}, keys)};
}

}  // namespace heed
