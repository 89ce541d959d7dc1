// The weights of a model folder, in one file or several shards.
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "io/tensor_files.h"

namespace heed {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

// Which file holds each tensor, according to the index.
std::map<std::string, std::string> read_index(const std::filesystem::path& path) {
  const JsonText index = JsonText::parse(read_file(path, kMostIndexBytes),
                                         {.file = path.string(), .unique_keys = true});
  const Json& map = index.root()["weight_map"];
  if (map.members().empty())
    index.refuse(map, "weight_map", "an object of tensors and their files");
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : map.members()) {
    const std::string* file = value.as_text();
    if (file == nullptr || std::filesystem::path(*file).filename() != *file)
      index.refuse(value, "weight_map." + name, "the name of a file in the same folder");
    files.emplace(name, *file);
  }
  return files;
}

[[noreturn]] void fail_of(const std::filesystem::path& path, ErrorCode code, Phrase found,
                          Phrase expected = {}) {
  fail({.code = code,
        .file = path.string(),
        .found = std::move(found),
        .expected = std::move(expected)});
}

// Reading a pickle runs its code, so heed asks the user to convert it first.
[[noreturn]] void fail_without_weights(const std::filesystem::path& folder) {
  const bool pickled = std::filesystem::exists(folder / "pytorch_model.bin") ||
                       std::filesystem::exists(folder / "pytorch_model.bin.index.json");
  if (const auto link = folder / "model.safetensors"; std::filesystem::is_symlink(link))
    fail_of(link, ErrorCode::kNotFound,
            fmt::format("a link to {}, which does not exist",
                        std::filesystem::read_symlink(link).string()));
  if (!pickled)
    fail_of(folder, ErrorCode::kNotFound,
            fmt::format("has neither model.safetensors nor {}", kIndex));
  fail({.code = ErrorCode::kUnsupported,
        .file = folder.string(),
        .found = "has its weights in pytorch_model.bin alone",
        .expected = "model.safetensors",
        .hint = fmt::format(
            "this writes it: python3 -c \"import glob, torch, safetensors.torch as s; "
            "s.save_file({{k: v.contiguous().clone() for f in glob.glob('{0}/pytorch_model*.bin') "
            "for k, v in torch.load(f, weights_only=True).items()}}, '{0}/model.safetensors', "
            "{{'format': 'pt'}})\"",
            folder.string())});
}

}  // namespace

Weights Weights::open(const std::filesystem::path& folder) {
  Weights weights;
  weights.folder_ = folder;
  if (std::filesystem::exists(folder / "model.safetensors")) {
    weights.add(std::make_shared<Safetensors>(Safetensors::open(folder / "model.safetensors")));
    return weights;
  }
  if (!std::filesystem::exists(folder / kIndex)) fail_without_weights(folder);
  weights.promised_ = read_index(folder / kIndex);
  std::set<std::string> files;
  for (const auto& [tensor, file] : weights.promised_)
    if (files.insert(file).second)
      weights.add(std::make_shared<Safetensors>(Safetensors::open(folder / file)));
  return weights;
}

Weights Weights::of(std::shared_ptr<const TensorFile> file) {
  Weights weights;
  weights.folder_ = file->path();
  weights.add(std::move(file));
  return weights;
}

void Weights::add(std::shared_ptr<const TensorFile> file) {
  for (const std::string& name : file->names()) {
    const auto [other, is_new] = file_indices_.emplace(name, files_.size());
    if (!is_new)
      fail_of(file->path(), ErrorCode::kCorrupt,
              fmt::format("holds tensor '{}', which {} holds too", name,
                          files_[other->second]->path().filename().string()));
  }
  for (const auto& [alias, name] : file->metadata())
    if (file->contains(name) && !file->contains(alias)) aliases_.emplace(alias, name);
  files_.push_back(std::move(file));
}

std::vector<std::string> Weights::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_indices_) names.push_back(name);
  return names;
}

const std::string& Weights::stored_name(const std::string& name) const {
  if (file_indices_.contains(name)) return name;
  const auto alias = aliases_.find(name);
  return alias == aliases_.end() ? name : alias->second;
}

bool Weights::contains(const std::string& name) const {
  return file_indices_.contains(stored_name(name));
}

const TensorFile& Weights::file_of(const std::string& name) const {
  const auto found = file_indices_.find(stored_name(name));
  if (found != file_indices_.end()) return *files_[found->second];
  if (const auto promised = promised_.find(name); promised != promised_.end())
    fail_of(folder_ / kIndex, ErrorCode::kCorrupt,
            fmt::format("says that tensor '{}' is in {}, which does not hold it", name,
                        promised->second));
  if (files_.size() > 1)
    fail_of(folder_, ErrorCode::kNotFound,
            fmt::format("none of the {} shards holds tensor '{}'", files_.size(), name));
  return *files_.front();  // whose error lists its tensors
}

ConstView Weights::tensor(const std::string& name) const {
  return file_of(name).tensor(stored_name(name));
}

void Weights::require(const std::string& name, const Shape& shape) const {
  const TensorKind stored = kind(name);
  const auto refuse = [&](const char* member, Phrase found, Phrase expected) {
    fail_in(file_of(name).path().string(), fmt::format("{}.{}", name, member), std::move(found),
            std::move(expected));
  };
  if (!(stored.shape == shape)) refuse("shape", to_string(stored.shape), to_string(shape));
  if (!is_floating(stored.dtype))
    refuse("dtype", heed::name(stored.dtype), "f32, f16, bf16 or f64");
}

ConstView Weights::tensor(const std::string& name, const Shape& shape) const {
  require(name, shape);
  return tensor(name);
}

Tensor TensorFile::load_f32(const std::string& name) const {
  return Tensor::converted(tensor(name), DType::kF32);
}

std::optional<BlockRows> TensorFile::blocks(const std::string& /*name*/) const { return {}; }

Tensor Weights::load_f32(const std::string& name, const Shape& shape) const {
  require(name, shape);
  return file_of(name).load_f32(stored_name(name));
}

Tensor Weights::mapped(const std::string& name, const Shape& shape) const {
  require(name, shape);
  return file_of(name).mapped(stored_name(name));
}

}  // namespace heed
