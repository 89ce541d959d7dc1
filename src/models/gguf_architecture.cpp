#include "models/gguf_architecture.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "base/wording.h"
#include "models/family.h"

namespace heed {
namespace {

constexpr const char* kLayerNormEpsilon = "layer_norm_eps";
constexpr const char* kPartial = "partial_rotary_factor";
constexpr const char* kExpertWidth = "expert_feed_forward_length";

// Not in the file: the largest model divides scores by its width over its heads, the others by the
// head size.
template <int kLayersOfLargest>
void set_gemma_scale(const GgufKeys& keys, Json& config) {
  const std::int64_t heads = keys.count("attention.head_count");
  config.set("query_pre_attn_scalar", keys.count("block_count") == kLayersOfLargest
                                          ? Json(keys.count("embedding_length") / heads)
                                          : config["head_dim"]);
}

// Not in the file: GPT-NeoX-20B uses the tanh GELU, Pythia the exact one.
void set_neox_activation(const GgufKeys& keys, Json& config) {
  config.set("hidden_act", keys.count("block_count") == 44 ? "gelu_fast" : "gelu");
}

// OLMo 3 is OLMo 2 with windows.
void set_olmo_kind(const GgufKeys&, Json& config) {
  if (!config.has("sliding_window")) return;
  config.set("model_type", "olmo3");
  config.set("architectures", Json::array({"Olmo3ForCausalLM"}));
}

// A file of architecture "llama" with experts is Mixtral.
void set_mixtral(const GgufKeys&, Json& config) {
  if (!config.has("num_local_experts")) return;
  config.set("model_type", "mixtral");
  config.set("architectures", Json::array({"MixtralForCausalLM"}));
}

// Without the key, llama.cpp divides scores by the root of the head size.
void set_granite_scale(const GgufKeys& keys, Json& config) {
  if (!keys.has("attention.scale"))
    config.set("attention_multiplier", 1 / std::sqrt(static_cast<double>(keys.head_dim())));
}

// Not in the file: gpt-oss scales positions without rounding the ends of YaRN's ramp.
void set_gpt_oss_rope(const GgufKeys&, Json& config) {
  Json scaling = config["rope_scaling"];
  if (scaling.is_null())
    scaling = {{"rope_type", "default"}};
  else
    scaling.set("truncate", false);
  config.set("rope_scaling", std::move(scaling));
}

void set_falcon_keys(const GgufKeys& keys, Json& config) {
  const std::int64_t heads = keys.count("attention.head_count"),
                     kv_heads = keys.count("attention.head_count_kv", heads);
  const bool has_two_norms = keys.has_tensor("blk.0.attn_norm_2.weight");
  config.set("num_kv_heads", kv_heads);
  config.set("multi_query", kv_heads == 1);
  config.set("new_decoder_architecture", has_two_norms || (kv_heads != 1 && kv_heads != heads));
  config.set("num_ln_in_parallel_attn", has_two_norms ? 2 : 1);
}

const GgufValue kParallel = {"use_parallel_residual", "use_parallel_residual", false};
const GgufValue kLogitScale = {"logit_scale", "logit_scale", 0.0625};
const GgufValue kScoreCap = {"attn_logit_softcapping", "attn_logit_softcapping", 50.0};
const GgufValue kLogitCap = {"final_logit_softcapping", "final_logit_softcapping"};
const GgufSign kBias = {"attention_bias", "attn_q.bias"};
const GgufSign kMlpBias = {"mlp_bias", "ffn_up.bias"};
const GgufSign kHeadNorms = {"qk_layernorm", "attn_q_norm.weight"};
const Json kNoWindow = {{"use_sliding_window", false}};
const Json kTanh = {{"hidden_activation", "gelu_pytorch_tanh"}};

std::vector<GgufArchitecture> llamas() {
  return {{.name = "llama",
           .model_types = {"llama", "mistral", "ministral", "mixtral"},
           .decoder = {.class_name = "LlamaForCausalLM",
                       .has_factors = true,
                       .turns_neighbours = true,
                       .experts = "num_local_experts",
                       .signs = {kBias, kMlpBias},
                       .finish = set_mixtral}},
          {.name = "granite",
           .model_types = {"granite"},
           .decoder = {.class_name = "GraniteForCausalLM",
                       .has_factors = true,
                       .turns_neighbours = true,
                       .values = {{"attention.scale", "attention_multiplier", 1.0},
                                  {"embedding_scale", "embedding_multiplier"},
                                  {"residual_scale", "residual_multiplier"},
                                  {"logit_scale", "logits_scaling"}},
                       .signs = {kBias, kMlpBias},
                       .finish = set_granite_scale}},
          {.name = "nemotron",
           .model_types = {"nemotron"},
           .decoder = {.class_name = "NemotronForCausalLM",
                       .head = GgufHead::kOwn,
                       .epsilon = "norm_eps",
                       .centred = true,
                       .share = "partial_rotary_factor",
                       .signs = {kBias, kMlpBias}}},
          {.name = "qwen2",
           .model_types = {"qwen2"},
           .decoder = {.class_name = "Qwen2ForCausalLM", .fixed = kNoWindow}},
          {.name = "qwen3",
           .model_types = {"qwen3"},
           .decoder = {.class_name = "Qwen3ForCausalLM", .fixed = kNoWindow}}};
}

std::vector<GgufArchitecture> experts() {
  const GgufValue width = {kExpertWidth, "moe_intermediate_size", {}, true};
  const GgufValue shared = {
      "expert_shared_feed_forward_length", "shared_expert_intermediate_size", {}, true};
  return {{.name = "qwen2moe",
           .model_types = {"qwen2_moe"},
           .decoder = {.class_name = "Qwen2MoeForCausalLM",
                       .head = GgufHead::kOwn,
                       .experts = "num_experts",
                       .values = {width, shared},
                       .signs = {{"qkv_bias", kBias.tensor}},
                       .fixed = {{"use_sliding_window", false}, {"norm_topk_prob", false}}}},
          {.name = "qwen3moe",
           .model_types = {"qwen3_moe"},
           .decoder = {.class_name = "Qwen3MoeForCausalLM",
                       .experts = "num_experts",
                       .values = {width},
                       .fixed = {{"use_sliding_window", false}, {"norm_topk_prob", true}}}},
          {.name = "olmoe",
           .model_types = {"olmoe"},
           .decoder = {.class_name = "OlmoeForCausalLM",
                       .head = GgufHead::kOwn,
                       .experts = "num_experts",
                       .fixed = {{"norm_topk_prob", false}}}}};
}

std::vector<GgufArchitecture> gpt_oss() {
  return {{.name = "gpt-oss",
           .model_types = {"gpt_oss"},
           .decoder = {.class_name = "GptOssForCausalLM",
                       .head = GgufHead::kOwn,
                       .mlp_norm_behind = true,
                       .experts = "num_local_experts",
                       .period = 2,
                       .window = 128,
                       .values = {{kExpertWidth, "intermediate_size", {}, true}},
                       .signs = {kBias},
                       .finish = set_gpt_oss_rope}}};
}

std::vector<GgufArchitecture> gemmas() {
  return {{.name = "gemma",
           .model_types = {"gemma"},
           .decoder = {.class_name = "GemmaForCausalLM",
                       .head = GgufHead::kTied,
                       .fixed = {{"hidden_act", "gelu_pytorch_tanh"}}}},
          {.name = "gemma2",
           .model_types = {"gemma2"},
           .decoder = {.class_name = "Gemma2ForCausalLM",
                       .head = GgufHead::kTied,
                       .period = 2,
                       .window = 4096,
                       .values = {kScoreCap, {kLogitCap.stored, kLogitCap.hub, 30.0}},
                       .fixed = kTanh,
                       .finish = set_gemma_scale<46>}},
          {.name = "gemma3",
           .model_types = {"gemma3_text"},
           .decoder = {.class_name = "Gemma3ForCausalLM",
                       .head = GgufHead::kTied,
                       .local_base = 10000,
                       .period = 6,
                       .values = {kLogitCap},
                       .fixed = kTanh,
                       .finish = set_gemma_scale<62>}}};
}

std::vector<GgufArchitecture> gpts() {
  return {{.name = "gpt2",
           .model_types = {"gpt2"},
           .decoder = {.class_name = "GPT2LMHeadModel",
                       .sizes = {.layers = "n_layer",
                                 .heads = "n_head",
                                 .width = "n_embd",
                                 .inner = "n_inner",
                                 .positions = "n_positions"},
                       .epsilon = "layer_norm_epsilon",
                       .centred = true,
                       .rotates = false}},
          {.name = "bloom",
           .model_types = {"bloom"},
           .decoder = {.class_name = "BloomForCausalLM",
                       .sizes = {.layers = "n_layer", .heads = "n_head"},
                       .epsilon = "layer_norm_epsilon",
                       .centred = true,
                       .rotates = false,
                       .heads_alike = true}},
          {.name = "falcon",
           .model_types = {"falcon"},
           .decoder = {.class_name = "FalconForCausalLM",
                       .sizes = {.inner = "ffn_hidden_size"},
                       .epsilon = "layer_norm_epsilon",
                       .centred = true,
                       .heads_alike = true,
                       .mlp_norm_first = true,
                       .finish = set_falcon_keys}},
          {.name = "gptneox",
           .model_types = {"gpt_neox"},
           .decoder = {.class_name = "GPTNeoXForCausalLM",
                       .head = GgufHead::kOwn,
                       .epsilon = kLayerNormEpsilon,
                       .centred = true,
                       .base = "rotary_emb_base",
                       .share = "rotary_pct",
                       .values = {{kParallel.stored, kParallel.hub, true}},
                       .finish = set_neox_activation}}};
}

std::vector<GgufArchitecture> phis() {
  return {{.name = "phi2",
           .model_types = {"phi"},
           .decoder = {.class_name = "PhiForCausalLM",
                       .epsilon = kLayerNormEpsilon,
                       .centred = true,
                       .share = kPartial}},
          {.name = "phi3",
           .model_types = {"phi3"},
           .decoder = {.class_name = "Phi3ForCausalLM",
                       .has_factors = true,
                       .share = kPartial,
                       .period = kAllSlide}}};
}

std::vector<GgufArchitecture> stable_code() {
  return {{.name = "stablelm",
           .model_types = {"stablelm"},
           .decoder = {.class_name = "StableLmForCausalLM",
                       .head = GgufHead::kOwn,
                       .epsilon = kLayerNormEpsilon,
                       .centred = true,
                       .share = kPartial,
                       .values = {kParallel},
                       // llama.cpp decides by the tensors.
                       .signs = {{"use_qkv_bias", kBias.tensor},
                                 kHeadNorms,
                                 {kParallel.hub, "ffn_norm.weight", /*absent=*/true}}}},
          {.name = "starcoder2",
           .model_types = {"starcoder2"},
           .decoder = {
               .class_name = "Starcoder2ForCausalLM", .epsilon = "norm_epsilon", .centred = true}}};
}

std::vector<GgufArchitecture> olmos() {
  return {{.name = "olmo",
           .model_types = {"olmo"},
           .decoder = {.class_name = "OlmoForCausalLM",
                       .epsilon = nullptr,  // always 1e-5
                       .centred = true,
                       .turns_neighbours = true,
                       .values = {{"attention.clamp_kqv", "clip_qkv"}}}},
          {.name = "olmo2",
           .model_types = {"olmo2", "olmo3"},
           .decoder = {.class_name = "Olmo2ForCausalLM",
                       .head = GgufHead::kOwn,
                       .local_base = 0,
                       .period = 4,
                       .lists_windows = true,
                       .finish = set_olmo_kind}}};
}

std::vector<GgufArchitecture> commands() {
  return {{.name = "command-r",
           .model_types = {"cohere"},
           .decoder = {.class_name = "CohereForCausalLM",
                       .head = GgufHead::kTied,
                       .epsilon = kLayerNormEpsilon,
                       .centred = true,
                       .turns_neighbours = true,
                       .values = {kLogitScale},
                       .signs = {{"use_qk_norm", kHeadNorms.tensor}}}},
          {.name = "cohere2",
           .model_types = {"cohere2"},
           .decoder = {.class_name = "Cohere2ForCausalLM",
                       .head = GgufHead::kTied,
                       .epsilon = kLayerNormEpsilon,
                       .centred = true,
                       .turns_neighbours = true,
                       .period = 4,
                       .window = 4096,
                       .values = {kLogitScale}}}};
}

std::vector<GgufArchitecture> smollm_and_glm() {
  return {// llama.cpp gives every fourth layer no positions, like SmolLM3's configuration by
          // default.
          {.name = "smollm3",
           .model_types = {"smollm3"},
           .decoder = {.class_name = "SmolLM3ForCausalLM", .turns_neighbours = true}},
          {.name = "glm4",
           .model_types = {"glm4"},
           .decoder = {.class_name = "Glm4ForCausalLM",
                       .turns_neighbours = true,
                       .share = kPartial,
                       .signs = {kBias}}}};
}

DecoderShape shape_of(const Config& config) { return family_of(config).shape(config); }

std::vector<GgufFact> facts_of(const GgufArchitecture& architecture, const Config& config) {
  if (architecture.facts != nullptr) return architecture.facts(config);
  return architecture.config == nullptr ? gguf_facts(shape_of(config)) : std::vector<GgufFact>();
}

}  // namespace

const std::vector<GgufArchitecture>& gguf_architectures() {
  static const std::vector<GgufArchitecture> all = [] {
    std::vector<GgufArchitecture> known;
    for (const auto& some :
         {llamas(), experts(), gpt_oss(), gemmas(), gpts(), phis(), stable_code(), olmos(),
          commands(), smollm_and_glm(), std::vector{gguf_bert(), gguf_t5_encoder(), gguf_t5()}})
      known.insert(known.end(), some.begin(), some.end());
    return known;
  }();
  return all;
}

Json gguf_config(const GgufArchitecture& architecture, const GgufContent& content) {
  const GgufKeys keys(content, architecture.name);
  return architecture.config != nullptr ? architecture.config(keys)
                                        : gguf_decoder_config(architecture, keys);
}

GgufWritten gguf_keys(const GgufArchitecture& architecture, const Config& config) {
  if (architecture.keys != nullptr) return {.keys = architecture.keys(config)};
  return gguf_decoder_keys(architecture, config, shape_of(config));
}

std::vector<GgufName> gguf_names(const GgufArchitecture& architecture, const Config& config) {
  return architecture.names != nullptr ? architecture.names(config)
                                       : gguf_decoder_names(architecture.decoder, shape_of(config));
}

void require_said(const GgufArchitecture& architecture, const Config& config,
                  const GgufContent& content) {
  const Config read = Config::made(gguf_config(architecture, content).dump(), content.file);
  const std::vector<GgufFact> own = facts_of(architecture, config),
                              others = facts_of(architecture, read);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i].value != others[i].value)
      fail({.code = ErrorCode::kUnsupported,
            .op = "gguf",
            .argument = own[i].name,
            .found = own[i].value,
            .expected =
                fmt::format("{}, as llama.cpp's '{}' has it", others[i].value, architecture.name)});
}

const GgufArchitecture& gguf_architecture(const Config& config) {
  const std::string wanted = config.text("model_type", "");
  std::vector<std::string_view> known;
  for (const GgufArchitecture& architecture : gguf_architectures())
    for (const std::string_view type : architecture.model_types) {
      if (type == wanted && (architecture.writes == nullptr || architecture.writes(config)))
        return architecture;
      if (std::ranges::find(known, type) == known.end()) known.push_back(type);
    }
  config.refuse("model_type", fmt::format("'{}'", wanted),
                "one that GGUF files are written of: " + joined(known, ", "),
                ErrorCode::kUnsupported);
}

const GgufArchitecture& gguf_architecture(const GgufContent& content) {
  constexpr const char* kKey = "general.architecture";
  const GgufKeys keys(content, "general");
  const std::string* wanted = content.value(kKey).as_text();
  if (wanted == nullptr) keys.refuse(kKey, "missing", "the name of an architecture");
  for (const GgufArchitecture& architecture : gguf_architectures())
    if (architecture.name == *wanted) return architecture;
  const auto name_of = [](const GgufArchitecture& architecture) { return architecture.name; };
  std::string expected = what_is_unserved(*wanted);
  if (expected.empty()) expected = "one of: " + joined(gguf_architectures(), ", ", name_of);
  keys.refuse(kKey, fmt::format("'{}'", clipped(*wanted)), expected, ErrorCode::kUnsupported);
}

}  // namespace heed
