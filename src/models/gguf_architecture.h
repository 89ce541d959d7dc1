// What llama.cpp calls the models that heed's families serve: keys of the metadata and names of
// tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/formats/json.h"
#include "io/gguf.h"
#include "models/config.h"
#include "models/gguf_model.h"

namespace heed {

/// The keys of one architecture, `llama.block_count`, with errors that name them.
class GgufKeys {
 public:
  GgufKeys(const Gguf& file, std::string_view architecture)
      : file_(file), architecture_(architecture) {}

  const Gguf& file() const { return file_; }
  std::string name(std::string_view key) const {
    return std::string(architecture_) + "." + std::string(key);
  }
  bool has(std::string_view key) const { return !file_[name(key)].is_null(); }
  /// A whole number from 1; a list of equal ones, as one a layer, counts as one.
  std::int64_t count(std::string_view key) const;
  std::int64_t count(std::string_view key, std::int64_t otherwise) const {
    return has(key) ? count(key) : otherwise;
  }
  double number(std::string_view key, std::optional<double> otherwise = {}) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  bool has_tensor(std::string_view tensor) const { return file_.find(tensor) != nullptr; }
  /// An extent of a tensor that has to be there.
  std::int64_t extent(std::string_view tensor, int axis) const;

 private:
  const Gguf& file_;
  std::string_view architecture_;
};

struct GgufArchitecture {
  std::string_view name;
  std::span<const GgufName> names;
  Json (*config)(const GgufKeys& keys);
  /// The way back: the keys of a model of this configuration, by their names behind the
  /// architecture's.
  Json (*keys)(const Config& config);
  std::span<const std::string_view> model_types;
};

/// A tensor under its other name.
struct RenamedTensor {
  std::string name;
  GgufChange change = GgufChange::kNone;
};
/// The name of a tensor, "blk.3.attn_q.weight", from the column `from` of the names to the column
/// `to`; none for a tensor that the architecture does not have.
std::optional<RenamedTensor> renamed(const GgufArchitecture& architecture, std::string_view name,
                                     std::string_view GgufName::* from,
                                     std::string_view GgufName::* to);

/// That of a configuration's `model_type`; kUnsupported names those that have one.
const GgufArchitecture& gguf_architecture(const Config& config);
/// That of `general.architecture`; kUnsupported names those that are known.
const GgufArchitecture& gguf_architecture(const Gguf& file);

}  // namespace heed
