
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/philox.h"
#include "base/wording.h"
#include "heed/error.h"
#include "models/family.h"

namespace heed {
namespace {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      gpt2_family(),     llama_family(),      encoder_family(),
      seq2seq_family(),  gemma2_family(),     t5_family(),
      gpt_neox_family(), gptj_family(),       gpt_neo_family(),
      opt_family(),      phi_family(),        phi3_family(),
      gemma_family(),    gemma3_family(),     gemma3_with_pictures_family(),
      olmo_family(),     olmo2_family(),      cohere_family(),
      stablelm_family(), starcoder2_family(), smollm3_family(),
      glm_family(),      granite_family(),    nemotron_family(),
      helium_family(),   bloom_family(),      falcon_family(),
      mixtral_family(),  qwen_moe_family(),   olmoe_family(),
      gpt_oss_family(),  lesson_family()};
  return all;
}

}  // namespace

Json json_of_ids(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return {};
  if (ids.size() == 1) return ids[0];
  return ids;
}

namespace {

// The weights of such folders are quantised, which cannot be inferred reliably from types and
// shapes. MLX names the entry `quantization`.
void refuse_quantised(const Config& config) {
  for (const char* key : {"quantization_config", "quantization", "compression_config"}) {
    const std::optional<Config> found = config.part(key);
    if (!found || found->is_empty()) continue;
    std::string method = key == std::string_view("quantization") ? "mlx" : "";
    if (found->is_text("quant_method")) method = found->text("quant_method", "");
    // The published gpt-oss, whose experts are read by StoredWeights.
    if (method == "mxfp4" && config.text("model_type", "") == "gpt_oss") continue;
    if (method.empty() && (found->has("load_in_4bit") || found->has("load_in_8bit")))
      method = "bitsandbytes";
    config.refuse(key, method.empty() ? "a method without a name" : method,
                  "none: the original model in f32, f16 or bf16, or a GGUF file of it",
                  ErrorCode::kUnsupported);
  }
}

constexpr std::string_view kDeltaRule = "layers of linear attention (gated delta rule)";
constexpr std::string_view kLinear = "layers of linear attention";
constexpr std::string_view kStateSpace = "layers of a state space model";
constexpr std::string_view kConvolutions = "layers of short convolutions";
constexpr std::string_view kTwoSizes =
    "heads of two sizes, keys shared between layers and words of each layer";
constexpr std::string_view kStreams = "streams beside each other and words of each layer";

// Known types that need what heed lacks, as the hub and GGUF files name them.
constexpr std::pair<std::string_view, std::string_view> kUnserved[] = {
    {"qwen3_5", kDeltaRule},
    {"qwen3_5_text", kDeltaRule},
    {"qwen3_5_moe", kDeltaRule},
    {"qwen3_5_moe_text", kDeltaRule},
    {"qwen3_next", kDeltaRule},
    {"kimi_linear", kDeltaRule},
    {"olmo_hybrid", kDeltaRule},
    {"qwen35", kDeltaRule},
    {"qwen35moe", kDeltaRule},
    {"qwen3next", kDeltaRule},
    {"minimax", kLinear},
    {"rwkv", kLinear},
    {"mamba", kStateSpace},
    {"mamba2", kStateSpace},
    {"falcon_mamba", kStateSpace},
    {"jamba", kStateSpace},
    {"bamba", kStateSpace},
    {"zamba", kStateSpace},
    {"zamba2", kStateSpace},
    {"falcon_h1", kStateSpace},
    {"granitemoehybrid", kStateSpace},
    {"nemotron_h", kStateSpace},
    {"falcon-h1", kStateSpace},
    {"granitehybrid", kStateSpace},
    {"lfm2", kConvolutions},
    {"lfm2_moe", kConvolutions},
    {"lfm2moe", kConvolutions},
    {"recurrent_gemma", kLinear},
    {"gemma4", kTwoSizes},
    {"gemma4_text", kTwoSizes},
    {"gemma4_unified", kTwoSizes},
    {"gemma4_unified_text", kTwoSizes},
    {"gemma3n", kStreams},
    {"gemma3n_text", kStreams}};

}  // namespace

std::string what_is_unserved(std::string_view type) {
  const auto found = std::ranges::find(kUnserved, type, [](const auto& row) { return row.first; });
  if (found == std::end(kUnserved)) return "";
  return fmt::format("a model without {}, which heed does not compute", found->second);
}

std::vector<std::string_view> known_model_types() {
  std::vector<std::string_view> known;
  for (const Family& family : families())
    known.insert(known.end(), family.model_types.begin(), family.model_types.end());
  return known;
}

const Family& family_of(const Config& config) {
  refuse_quantised(config);
  const std::string wanted = config.text("model_type", "");
  for (const Family& family : families())
    if (std::ranges::find(family.model_types, wanted) != family.model_types.end()) return family;
  const std::string unserved = what_is_unserved(wanted);
  config.refuse(
      "model_type", fmt::format("'{}'", wanted),
      unserved.empty() ? fmt::format("one of: {}", joined(known_model_types(), ", ")) : unserved,
      ErrorCode::kUnsupported);
}

void initialise(std::span<Parameter* const> parameters, const InitialParameters& how) {
  for (Parameter* parameter : parameters) {
    std::uint32_t stream = 2166136261U;  // FNV-1a of the name
    for (const char letter : parameter->name)
      stream = (stream ^ static_cast<unsigned char>(letter)) * 16777619U;
    const bool bias = parameter->name.ends_with("bias");
    const bool matrix = parameter->value.rank() == 2 && !bias;
    const float constant = bias ? 0.0F : how.norm;
    const double deviation = matrix ? how.deviation(parameter->name) : 0;
    Random random(how.seed, stream);
    auto* value = parameter->value.data<float>();
    for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
      value[i] = matrix ? static_cast<float>(deviation * random.normal()) : constant;
  }
}

}  // namespace heed
