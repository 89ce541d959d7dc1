// The weights of a model folder, in one file or in shards.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "heed/base/error.h"
#include "heed/io/safetensors.h"
#include "io/atomic_file.h"

namespace heed {
namespace {

using Json = nlohmann::json;

constexpr const char* kIndex = "model.safetensors.index.json";

// Which file holds a tensor, as the index says.
std::map<std::string, std::string> read_index(const std::filesystem::path& path) {
  std::map<std::string, std::string> files;
  const Json index = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  const Json map = index.is_object() ? index.value("weight_map", Json()) : Json();
  bool good = map.is_object() && !map.empty();
  for (const auto& [name, file] : map.items()) {
    good = good && file.is_string() &&
           std::filesystem::path(file.get<std::string>()).filename() == file.get<std::string>();
    if (good) files.emplace(name, file.get<std::string>());
  }
  if (!good)
    fail(ErrorCode::kCorrupt,
         "{}: expected a JSON object with a 'weight_map' from tensor names to names of files in "
         "the same folder",
         path.string());
  return files;
}

}  // namespace

Weights Weights::open(const std::filesystem::path& folder) {
  Weights weights;
  weights.folder_ = folder;
  if (std::filesystem::exists(folder / "model.safetensors")) {
    weights.add(Safetensors::open(folder / "model.safetensors"));
    return weights;
  }
  if (!std::filesystem::exists(folder / kIndex))
    fail(ErrorCode::kNotFound, "{}: has neither model.safetensors nor {}", folder.string(), kIndex);
  const std::map<std::string, std::string> index = read_index(folder / kIndex);
  for (const auto& [tensor, file] : index) {
    const bool opened = std::ranges::any_of(
        weights.files_, [&](const Safetensors& other) { return other.path().filename() == file; });
    if (!opened) weights.add(Safetensors::open(folder / file));
  }
  for (const auto& [tensor, file] : index) {
    if (!weights.contains(tensor) || weights.file_of(tensor).path().filename() != file)
      fail(ErrorCode::kCorrupt, "{}: says that tensor '{}' is in {}, which does not hold it",
           (folder / kIndex).string(), tensor, file);
  }
  return weights;
}

void Weights::add(Safetensors file) {
  for (const std::string& name : file.names()) {
    const auto [other, is_new] = file_indices_.emplace(name, files_.size());
    if (!is_new)
      fail(ErrorCode::kCorrupt, "{}: holds tensor '{}', which {} holds too", file.path().string(),
           name, files_[other->second].path().filename().string());
  }
  files_.push_back(std::move(file));
}

std::vector<std::string> Weights::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_indices_) names.push_back(name);
  return names;
}

bool Weights::contains(const std::string& name) const { return file_indices_.contains(name); }

const Safetensors& Weights::file_of(const std::string& name) const {
  const auto found = file_indices_.find(name);
  if (found != file_indices_.end()) return files_[found->second];
  if (files_.size() > 1)
    fail(ErrorCode::kNotFound, "{}: none of the {} shards holds tensor '{}'", folder_.string(),
         files_.size(), name);
  return files_.front();  // whose own error says what it holds
}

ConstView Weights::tensor(const std::string& name) const { return file_of(name).tensor(name); }

Tensor Weights::load_f32(const std::string& name, const Shape& shape) const {
  const ConstView stored = tensor(name);
  const std::string file = file_of(name).path().string();
  if (!(stored.shape() == shape))
    fail(ErrorCode::kCorrupt, "{}: tensor '{}' has shape {}, expected {}", file, name,
         to_string(stored.shape()), to_string(shape));
  if (!is_floating(stored.dtype()))
    fail(ErrorCode::kCorrupt, "{}: tensor '{}' has type {}, expected f32, f16, bf16 or f64", file,
         name, heed::name(stored.dtype()));
  return Tensor::converted(stored, DType::kF32);
}

}  // namespace heed
