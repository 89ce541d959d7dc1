// LoRA (Hu et al. 2021): a folder with adapter_config.json, whose small matrices change the weights
// of another model: W + scale B A, where scale is alpha / r.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/io/files.h"

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

struct AdapterConfig {
  double alpha = 8;
  bool by_root = false;     // scale is alpha / sqrt(r)
  bool transposed = false;  // the weights of linear layers are stored [inputs, outputs]
  std::vector<std::pair<std::string, double>> alphas = {};  // of modules whose names end so
  std::string base = {};

  /// The factor of B A in a module of this name whose matrices have the rank r.
  double scale(std::string_view module, std::int64_t r) const;
};

/// kUnsupported names what asks for something that is not served.
AdapterConfig read_adapter_config(const std::filesystem::path& folder);

}  // namespace heed
