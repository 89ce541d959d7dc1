
#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/file.h"
#include "base/formats/json.h"
#include "heed/error.h"
#include "models/adapter.h"

namespace heed {
namespace {

// Keys that heed reads, and keys without effect on a finished adapter's weights.
constexpr std::string_view kKnownKeys[] = {"peft_type",
                                           "base_model_name_or_path",
                                           "lora_alpha",
                                           "r",
                                           "use_rslora",
                                           "fan_in_fan_out",
                                           "alpha_pattern",
                                           "rank_pattern",
                                           "bias",
                                           "modules_to_save",
                                           "init_lora_weights",
                                           "target_modules",
                                           "exclude_modules",
                                           "layers_to_transform",
                                           "layers_pattern",
                                           "task_type",
                                           "inference_mode",
                                           "revision",
                                           "auto_mapping",
                                           "peft_version",
                                           "lora_dropout",
                                           "loftq_config",
                                           "eva_config",
                                           "runtime_config",
                                           "ensure_weight_tying",
                                           "qalora_group_size",
                                           "megatron_core"};

bool is_off(const Json& value) {
  return value.is_null() || value == Json(false) ||
         (value.items().empty() && value.members().empty() &&
          (value.is_array() || value.is_object()));
}

void require_lora(const JsonText& config) {
  const Json& root = config.root();
  const auto refuse = [&](const Json& value, std::string_view key, const char* expected) {
    config.refuse(value, key, expected, ErrorCode::kUnsupported);
  };
  if (root["peft_type"] != Json("LORA"))
    refuse(root["peft_type"], "peft_type", "LORA, the one kind of adapter that heed applies");
  if (root["use_dora"] == Json(true))
    refuse(root["use_dora"], "use_dora",
           "false: merge a DoRA adapter into its base first (peft's merge_and_unload)");
  // Other initialisations start from changed base weights, which the file does not hold.
  constexpr std::string_view kPlain[] = {"gaussian", "eva", "orthogonal"};
  if (const std::string* start = root["init_lora_weights"].as_text();
      start != nullptr && std::ranges::find(kPlain, *start) == std::end(kPlain))
    refuse(root["init_lora_weights"], "init_lora_weights",
           "true, false, gaussian, eva or orthogonal, which leave the base's weights as they are");
  for (const auto& [key, value] : root.members())
    if (std::ranges::find(kKnownKeys, key) == std::end(kKnownKeys) && !is_off(value))
      refuse(value, key, "null or false: heed's LoRA does not have it");
}

// peft treats these keys as regular expressions for the end of a module's name; a plain name is one
// in which "." matches any character.
void require_name(const JsonText& config, const std::string& key) {
  if (key.find_first_of("*+?()[]{}|\\$") != std::string::npos)
    config.refuse(config.root()["alpha_pattern"], "alpha_pattern",
                  "names of modules, not regular expressions", ErrorCode::kUnsupported);
}

bool ends_with_name(std::string_view module, std::string_view key) {
  const bool is_whole = key.starts_with('^');
  if (is_whole) key.remove_prefix(1);
  if (key.size() > module.size()) return false;
  const std::size_t begin = module.size() - key.size();
  if (begin > 0 && (is_whole || module[begin - 1] != '.')) return false;
  return std::ranges::equal(module.substr(begin), key,
                            [](char own, char wanted) { return wanted == '.' || own == wanted; });
}

}  // namespace

double AdapterConfig::scale(std::string_view module, std::int64_t r) const {
  const auto own = std::ranges::find_if(
      alphas, [&](const auto& pattern) { return ends_with_name(module, pattern.first); });
  const double numerator = own == alphas.end() ? alpha : own->second;
  const auto rank = static_cast<double>(r);
  return numerator / (by_root ? std::sqrt(rank) : rank);
}

AdapterConfig read_adapter_config(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "adapter_config.json";
  const JsonText config = JsonText::parse(read_file(file), {.file = file.string()});
  const Json& root = config.root();
  require_lora(config);
  const std::string* base = root["base_model_name_or_path"].as_text();
  if (base == nullptr || base->empty())
    config.refuse(root["base_model_name_or_path"], "base_model_name_or_path",
                  "the path or the name of the model that it changes");
  AdapterConfig read = {.by_root = root["use_rslora"] == Json(true),
                        .transposed = root["fan_in_fan_out"] == Json(true),
                        .base = *base};
  const auto number = [&](const Json& value, const char* key) {
    const std::optional<double> found = value.as_number();
    if (!found || !std::isfinite(*found)) config.refuse(value, key, "a number");
    return *found;
  };
  if (root.has("lora_alpha")) read.alpha = number(root["lora_alpha"], "lora_alpha");
  for (const auto& [key, value] : root["alpha_pattern"].members()) {
    require_name(config, key);
    read.alphas.emplace_back(key, number(value, "alpha_pattern"));
  }
  return read;
}

}  // namespace heed
