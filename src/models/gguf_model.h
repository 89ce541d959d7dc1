// Presents a GGUF file like a model folder: a config.json, tensors under the hub's names, a
// tokenizer.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heed/tensor.h"
#include "io/gguf.h"
#include "io/tensor_files.h"
#include "models/config.h"
#include "models/gguf_architecture.h"
#include "text/files/stored_vocabulary.h"

namespace heed {

class GgufModel final : public TensorFile {
 public:
  static std::shared_ptr<const GgufModel> open(const std::filesystem::path& path);

  /// In the form of the hub's model of this architecture.
  std::string config_json() const;
  Config config() const { return Config::made(config_json(), path().string()); }
  StoredVocabulary vocabulary() const;
  /// The commonest type of its numbers: "Q4_K".
  std::string stored_in() const;

  const std::filesystem::path& path() const override { return file_.path(); }
  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return entries().contains(name); }
  TensorKind kind(const std::string& name) const override;
  ConstView tensor(const std::string& name) const override;
  Tensor mapped(const std::string& name) const override;
  Tensor load_f32(const std::string& name) const override;
  std::optional<BlockRows> blocks(const std::string& name) const override;
  void release(const std::string& name) const override;
  const std::map<std::string, std::string>& metadata() const override;

 private:
  struct Entry {
    const GgufTensor* tensor = nullptr;
    GgufChange change = GgufChange::kNone;
    Shape shape = {};            // of the selected rows, as stored
    std::int64_t first_row = 0;  // in the tensor, which may hold queries, keys and values
    bool is_halved = false;      // `tensor` has the even rows
    const GgufTensor* odd = nullptr;
    // A half as an entry of its own, as it is stored.
    Entry half(const GgufTensor* of) const;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // by the hub's names

  explicit GgufModel(Gguf file);
  const Entries& entries() const;
  Entries make_entries() const;
  // Rows of a tensor, under the name they have as a separate tensor.
  struct Part {
    std::string name;
    std::int64_t first_row = 0, rows;
  };
  /// The tensor itself, or its queries, keys and values if the hub's model has three tensors.
  std::vector<Part> parts_of(const std::string& name, const GgufTensor& tensor,
                             const std::vector<GgufName>& names) const;
  void add_experts(const std::string& stored, const GgufTensor& tensor, const RenamedTensor& hub,
                   std::size_t expert, Entries& entries) const;
  void require_both_halves(const Entries& entries) const;
  std::optional<BlockRows> blocks(const Entry& entry) const;
  const Entry& entry(const std::string& name) const;
  std::span<const std::byte> bytes(const Entry& entry) const;
  /// The type of a tensor whose bytes in the file are the parameter unchanged.
  static std::optional<DType> plain_type(const Entry& entry);
  Tensor read(const Entry& entry) const;
  Tensor as_on_the_hub(const Tensor& stored, GgufChange change) const;

  Gguf file_;
  GgufContent content_;
  const GgufArchitecture& architecture_;
  mutable std::once_flag once_;
  mutable Entries entries_;
  mutable std::mutex guard_;
  mutable std::map<std::string, Tensor, std::less<>> read_;  // memory of the views of `tensor`
};

}  // namespace heed
