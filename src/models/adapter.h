// LoRA (Hu et al. 2021): a folder with adapter_config.json, whose small matrices change another
// model's weights to W + scale B A, where scale is alpha / r.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/tensor_files.h"

namespace heed {

/// Whether the folder holds an adapter and no full model.
bool is_adapter(const std::filesystem::path& folder);

/// The model that the adapter changes: `base_model_name_or_path`, a path (absolute, or relative to
/// the adapter's folder) or a name for `find_model`. For any other folder, the folder itself.
std::filesystem::path base_model(const std::filesystem::path& folder);

/// The file with this name in the model's folder; for an adapter without it, the base's file.
std::filesystem::path model_file(const std::filesystem::path& folder, std::string_view name);

/// The base's weights with the adapter's changes, under the base's names. `config_json`: the
/// base's. kUnsupported names what heed does not support: methods other than LoRA, DoRA, a tensor
/// that fits none of the model's.
Weights adapted(Weights base, const std::filesystem::path& adapter, std::string_view config_json);

struct AdapterConfig {
  double alpha = 8;
  bool by_root = false;     // scale is alpha / sqrt(r)
  bool transposed = false;  // linear layers are stored as [inputs, outputs]
  std::vector<std::pair<std::string, double>> alphas = {};  // for modules whose names end like this
  std::string base = {};

  /// The factor of B A for the module with this name and matrices of rank r.
  double scale(std::string_view module, std::int64_t r) const;
};

/// kUnsupported names the unsupported setting.
AdapterConfig read_adapter_config(const std::filesystem::path& folder);

}  // namespace heed
