
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/philox.h"
#include "base/wording.h"
#include "heed/error.h"
#include "models/family.h"

namespace heed {
namespace {

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> known = {gpt2_family(),    llama_family(),  encoder_family(),
                                 seq2seq_family(), gemma2_family(), t5_family()};
    for (const auto& some :
         {gpt_neox_families(), gpt_neo_families(), phi_families(), gemma_families(),
          olmo_families(), std::vector{cohere_family()}, kin_of_llama_families(), falcon_families(),
          mixtral_families(), gemma4_families(), qwen3_5_families(), std::vector{lesson_family()}})
      known.insert(known.end(), some.begin(), some.end());
    return known;
  }();
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

struct Unserved {
  std::string_view lacks;
  std::vector<std::string_view> model_types;  // as the hub and GGUF files name them
};

// Known types that need what heed lacks.
const std::vector<Unserved>& all_unserved() {
  static const std::vector<Unserved> all = {
      {"layers of linear attention (gated delta rule)", {"kimi_linear", "olmo_hybrid"}},
      {"experts beside layers of linear attention",
       {"qwen3_5_moe", "qwen3_5_moe_text", "qwen3_next", "qwen35moe", "qwen3next"}},
      {"layers of linear attention in a GGUF file", {"qwen35"}},
      {"layers of linear attention", {"minimax", "rwkv", "recurrent_gemma"}},
      {"layers of a state space model",
       {"mamba", "mamba2", "falcon_mamba", "jamba", "bamba", "zamba", "zamba2", "falcon_h1",
        "granitemoehybrid", "nemotron_h", "falcon-h1", "granitehybrid"}},
      {"layers of short convolutions", {"lfm2", "lfm2_moe", "lfm2moe"}},
      {"streams beside each other and words of each layer", {"gemma3n", "gemma3n_text"}}};
  return all;
}

}  // namespace

std::string what_is_unserved(std::string_view type) {
  for (const auto& [lacks, model_types] : all_unserved())
    if (std::ranges::find(model_types, type) != model_types.end())
      return fmt::format("a model without {}, which heed does not compute", lacks);
  return "";
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
