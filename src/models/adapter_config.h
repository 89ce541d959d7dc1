// adapter_config.json, as peft writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

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
