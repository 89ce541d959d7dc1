// Named tensors in files: safetensors, the weights of a model folder, and what files of other
// formats have in common with them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed {

struct BlockType;

/// The type and shape of a stored tensor, from the file's header.
struct TensorKind {
  DType dtype = DType::kF32;  // f16 for quantised blocks: its rounding is finer than theirs
  Shape shape;
};

/// A matrix in quantised blocks, as in GGUF files.
struct BlockRows {
  const BlockType* type = nullptr;
  Tensor rows;  // u8 [outputs, bytes per row]: the weight of a linear layer
};

/// A file of named tensors.
class TensorFile {
 public:
  virtual ~TensorFile() = default;
  virtual const std::filesystem::path& path() const = 0;
  virtual std::vector<std::string> names() const = 0;  // sorted
  virtual bool contains(const std::string& name) const = 0;
  /// Reads only the header. kNotFound names the file and lists its tensors.
  virtual TensorKind kind(const std::string& name) const = 0;
  /// Valid until `release`, or until the file is closed.
  virtual ConstView tensor(const std::string& name) const = 0;
  /// May be kept: it keeps the file mapped.
  virtual Tensor mapped(const std::string& name) const = 0;
  virtual Tensor load_f32(const std::string& name) const;
  /// Empty if the tensor is not a matrix of quantised blocks.
  virtual std::optional<BlockRows> blocks(const std::string& name) const;
  /// Lets the OS reclaim the memory that holds the tensor's data.
  virtual void release(const std::string& name) const = 0;
  virtual const std::map<std::string, std::string>& metadata() const = 0;

 protected:
  TensorFile() = default;
  TensorFile(TensorFile&&) noexcept = default;
  TensorFile& operator=(TensorFile&&) noexcept = default;
};

/// One open file. Views stay valid as long as the object lives. They are aligned to their type only
/// if the file's writer aligned them, as heed and the `safetensors` library do. Opening checks the
/// whole header: length, JSON, types, shapes, offsets inside the file, no overlap, no hole. Errors
/// are kCorrupt and name file, tensor and byte offset.
class Safetensors final : public TensorFile {
 public:
  static Safetensors open(const std::filesystem::path& path);

  const std::filesystem::path& path() const override;
  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override;
  TensorKind kind(const std::string& name) const override;
  ConstView tensor(const std::string& name) const override;
  Tensor mapped(const std::string& name) const override;
  /// Released pages are read from the file again when needed.
  void release(const std::string& name) const override;
  const std::map<std::string, std::string>& metadata() const override;

 private:
  struct Impl;
  explicit Safetensors(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// The weights of a model folder: `model.safetensors`, or the shards that
/// `model.safetensors.index.json` lists. The metadata may declare a tensor an alias of another one
/// ({"lm_head.weight": "wte.weight"}, as `safetensors.torch.save_model` does): both names then
/// work. An index may name tensors that no shard holds: only reading one is an error.
class Weights {
 public:
  static Weights open(const std::filesystem::path& folder);
  static Weights of(std::shared_ptr<const TensorFile> file);

  std::vector<std::string> names() const;  // without aliases
  bool contains(const std::string& name) const;
  /// The name under which the file stores it: resolves an alias.
  const std::string& stored_name(const std::string& name) const;
  /// Reads only the header.
  TensorKind kind(const std::string& name) const { return file_of(name).kind(stored_name(name)); }
  /// Fails like `tensor(name, shape)`, but reads no data.
  void require(const std::string& name, const Shape& shape) const;
  ConstView tensor(const std::string& name) const;
  /// The tensor if it has a floating type and the expected shape; else an error names file, tensor,
  /// what was found and what was expected.
  ConstView tensor(const std::string& name, const Shape& shape) const;
  /// The file that holds it.
  const std::filesystem::path& file(const std::string& name) const { return file_of(name).path(); }
  /// The same, converted from f16, bf16 or f64 to an owned f32 tensor.
  Tensor load_f32(const std::string& name, const Shape& shape) const;
  /// The same in its stored type (f32, f16, bf16), memory-mapped and read-only: pages are read on
  /// first use. Unaligned tensors and f64 are loaded as in load_f32.
  Tensor mapped(const std::string& name, const Shape& shape) const;
  std::optional<BlockRows> blocks(const std::string& name) const {
    return file_of(name).blocks(stored_name(name));
  }
  void release(const std::string& name) const { file_of(name).release(stored_name(name)); }

 private:
  void add(std::shared_ptr<const TensorFile> file);
  const TensorFile& file_of(const std::string& name) const;

  std::filesystem::path folder_;
  std::vector<std::shared_ptr<const TensorFile>> files_;
  std::map<std::string, std::size_t> file_indices_;  // tensor name to index of its file
  std::map<std::string, std::string> aliases_;       // alias to tensor name
  std::map<std::string, std::string> promised_;      // file of each tensor, according to the index
};

struct NamedView {
  std::string name;
  ConstView view;
};

/// Writes atomically (io/atomic_file.h) in the format of `safetensors`: wider types first, so that
/// each tensor is aligned to its type, otherwise in the given order. The metadata is {"format":
/// "pt"}, which `transformers` requires, and the entries given here.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace heed
