// LoRA (Hu et al. 2021): a folder with adapter_config.json, whose small matrices change the weights
// of another model: W + scale B A, where scale is alpha / r.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "heed/io/safetensors.h"

namespace heed {

/// Whether the folder holds an adapter and no model of its own.
bool is_adapter(const std::filesystem::path& folder);

/// The model that the adapter changes: `base_model_name_or_path`, a path (absolute, or from the
/// adapter's folder) or a name that `find_model` knows. Any other path is its own base.
std::filesystem::path base_model(const std::filesystem::path& folder);

/// The file of this name in the model's folder; of an adapter that has none, the base's.
std::filesystem::path model_file(const std::filesystem::path& folder, std::string_view name);

/// The base's weights with the adapter's changes, by the base's names. `config_json`: the base's.
/// kUnsupported names what is not served: another method than LoRA, DoRA, a tensor that fits none
/// of the model.
Weights adapted(Weights base, const std::filesystem::path& adapter, std::string_view config_json);

}  // namespace heed
