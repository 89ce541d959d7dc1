#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/philox.h"
#include "heed/error.h"
#include "models/family.h"

namespace heed {
namespace {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      gpt2_family(),  llama_family(),    encoder_family(),  seq2seq_family(),    gemma2_family(),
      t5_family(),    gpt_neox_family(), gptj_family(),     gpt_neo_family(),    opt_family(),
      phi_family(),   phi3_family(),     gemma_family(),    gemma3_family(),     olmo_family(),
      olmo2_family(), cohere_family(),   stablelm_family(), starcoder2_family(), smollm3_family(),
      glm_family(),   lesson_family()};
  return all;
}

}  // namespace

Json json_of_ids(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return {};
  if (ids.size() == 1) return ids[0];
  return ids;
}

namespace {

// The weights of such folders are codes, which no tensor's type or shape says for certain. MLX
// calls its entry `quantization`.
void refuse_quantised(const Config& config) {
  for (const char* key : {"quantization_config", "quantization"}) {
    const std::optional<Config> found = config.part(key);
    if (!found || found->is_empty()) continue;
    std::string method = key == std::string_view("quantization") ? "mlx" : "";
    if (found->is_text("quant_method")) method = found->text("quant_method", "");
    if (method.empty() && (found->has("load_in_4bit") || found->has("load_in_8bit")))
      method = "bitsandbytes";
    config.refuse(key, method.empty() ? "a method without a name" : method,
                  "none: weights in f32, f16 or bf16", ErrorCode::kUnsupported);
  }
}

}  // namespace

const Family& family_of(const Config& config) {
  refuse_quantised(config);
  const std::string wanted = config.text("model_type", "");
  std::string known;
  for (const Family& family : families()) {
    if (std::ranges::find(family.model_types, wanted) != family.model_types.end()) return family;
    for (const std::string_view type : family.model_types)
      known += (known.empty() ? "" : ", ") + std::string(type);
  }
  config.refuse("model_type", fmt::format("'{}'", wanted), "one of: " + known,
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
