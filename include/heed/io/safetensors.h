// The safetensors format: an 8-byte little-endian header length, a JSON header, raw row-major
// tensors. Read through a memory map: opening touches the header only.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heed/tensor/tensor.h"

namespace heed {

/// One open file. Views stay valid as long as the object lives; they are aligned to their type only
/// where the file's writer cared (heed's, and the `safetensors` library). The header is checked
/// wholly when the file is opened: length, JSON, types, shapes, offsets inside the file, no
/// overlap, no hole. Errors are kCorrupt and name file, tensor and byte offset.
class Safetensors {
 public:
  static Safetensors open(const std::filesystem::path& path);
  Safetensors(Safetensors&&) noexcept;
  Safetensors& operator=(Safetensors&&) noexcept;
  ~Safetensors();

  const std::filesystem::path& path() const;
  std::vector<std::string> names() const;  // sorted
  bool contains(const std::string& name) const;
  ConstView tensor(const std::string& name) const;  // kNotFound names the file and what it holds
  const std::map<std::string, std::string>& metadata() const;

 private:
  struct Impl;
  explicit Safetensors(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The weights of a model folder: `model.safetensors`, or the shards that
/// `model.safetensors.index.json` lists.
class Weights {
 public:
  static Weights open(const std::filesystem::path& folder);

  std::vector<std::string> names() const;
  bool contains(const std::string& name) const;
  ConstView tensor(const std::string& name) const;
  /// The file that holds it.
  const std::filesystem::path& file(const std::string& name) const { return file_of(name).path(); }
  /// As an owned f32 tensor (f16, bf16 and f64 are converted); `shape` is what the model expects,
  /// and a mismatch is an error that names file, tensor, found and expected shape.
  Tensor load_f32(const std::string& name, const Shape& shape) const;

 private:
  void add(Safetensors file);
  const Safetensors& file_of(const std::string& name) const;

  std::filesystem::path folder_;
  std::vector<Safetensors> files_;
  std::map<std::string, std::size_t> file_indices_;  // by tensor
};

struct NamedView {
  std::string name;
  ConstView view;
};

/// Writes atomically (io/atomic_file.h), as `safetensors` reads them: wider types first, so that
/// each tensor is aligned to its type, else in the given order. Metadata gets {"format": "pt"},
/// which `transformers` asks for, and what is given here.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace heed
