// Tensors in files: NumPy's .npy, and safetensors.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// Reads an array of f64, f32, f16, i64, i32, i8, u8 or bool. Fortran order is brought into C
/// order. Errors (kCorrupt, kNotFound, kIo) name the file, the byte offset where it helps, and what
/// was expected.
Tensor read_npy(const std::filesystem::path& path);

/// Writes row-major, whatever the view's strides; bf16, which NumPy does not have, is written as
/// f32. The file appears whole or not at all (io/atomic_file.h).
void write_npy(const std::filesystem::path& path, const ConstView& array);

struct BlockType;

/// The type and shape of a stored tensor, from the file's header.
struct TensorKind {
  DType dtype = DType::kF32;  // of blocks of codes: f16, which rounds less than they do
  Shape shape;
};

/// A matrix in blocks of codes, as GGUF files have them.
struct BlockRows {
  const BlockType* type = nullptr;
  Tensor rows;  // u8 [outputs, bytes of a row]: what a linear layer's inputs are multiplied with
};

/// A file of named tensors.
class TensorFile {
 public:
  virtual ~TensorFile() = default;
  virtual const std::filesystem::path& path() const = 0;
  virtual std::vector<std::string> names() const = 0;  // sorted
  virtual bool contains(const std::string& name) const = 0;
  /// Reads the header alone. kNotFound names the file and what it holds.
  virtual TensorKind kind(const std::string& name) const = 0;
  /// Valid until `release`, or as long as the file is open.
  virtual ConstView tensor(const std::string& name) const = 0;
  /// For as long as it is needed: it keeps the file mapped.
  virtual Tensor mapped(const std::string& name) const = 0;
  virtual Tensor load_f32(const std::string& name) const;
  /// None where the tensor is not a matrix of blocks.
  virtual std::optional<BlockRows> blocks(const std::string& name) const;
  /// Lets the system take back the memory that the tensor's numbers were read into.
  virtual void release(const std::string& name) const = 0;
  virtual const std::map<std::string, std::string>& metadata() const = 0;

 protected:
  TensorFile() = default;
  TensorFile(TensorFile&&) noexcept = default;
  TensorFile& operator=(TensorFile&&) noexcept = default;
};

/// One open file. Views stay valid as long as the object lives; they are aligned to their type only
/// where the file's writer cared (heed's, and the `safetensors` library). The header is checked
/// wholly when the file is opened: length, JSON, types, shapes, offsets inside the file, no
/// overlap, no hole. Errors are kCorrupt and name file, tensor and byte offset.
class Safetensors final : public TensorFile {
 public:
  static Safetensors open(const std::filesystem::path& path);
  Safetensors(Safetensors&&) noexcept;
  Safetensors& operator=(Safetensors&&) noexcept;
  ~Safetensors() override;

  const std::filesystem::path& path() const override;
  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override;
  TensorKind kind(const std::string& name) const override;
  ConstView tensor(const std::string& name) const override;
  Tensor mapped(const std::string& name) const override;
  /// Its pages are read from the file again where they are asked for.
  void release(const std::string& name) const override;
  const std::map<std::string, std::string>& metadata() const override;

 private:
  struct Impl;
  explicit Safetensors(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// The weights of a model folder: `model.safetensors`, or the shards that
/// `model.safetensors.index.json` lists. A tensor that the metadata calls an alias of another one
/// ({"lm_head.weight": "wte.weight"}, which `safetensors.torch.save_model` writes) can be read by
/// both names. An index may name tensors that no shard holds: reading one is the error.
class Weights {
 public:
  static Weights open(const std::filesystem::path& folder);
  static Weights of(std::shared_ptr<const TensorFile> file);

  std::vector<std::string> names() const;  // without aliases
  bool contains(const std::string& name) const;
  /// The name that the file stores it by: an alias is resolved.
  const std::string& stored_name(const std::string& name) const;
  /// From the header alone.
  TensorKind kind(const std::string& name) const { return file_of(name).kind(stored_name(name)); }
  /// Fails as `tensor(name, shape)` does, and reads nothing.
  void require(const std::string& name, const Shape& shape) const;
  ConstView tensor(const std::string& name) const;
  /// Of a floating type, and of the shape that the model expects; else an error names file, tensor,
  /// what was found and what was expected.
  ConstView tensor(const std::string& name, const Shape& shape) const;
  /// The file that holds it.
  const std::filesystem::path& file(const std::string& name) const { return file_of(name).path(); }
  /// The same as an owned f32 tensor: f16, bf16 and f64 are converted.
  Tensor load_f32(const std::string& name, const Shape& shape) const;
  /// The same as the file has it, f32, f16 or bf16, mapped: nothing is read before it is used, and
  /// nobody may write to it. What lies across its type's alignment, and f64, come as from load_f32.
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
  std::map<std::string, std::size_t> file_indices_;  // by tensor
  std::map<std::string, std::string> aliases_;       // to the names of tensors
  std::map<std::string, std::string> promised_;      // file of each tensor, by the index
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
