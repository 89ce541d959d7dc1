// A GGUF file as a model folder would have it: a config.json, tensors by the hub's names, a
// tokenizer.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heed/dtype.h"
#include "heed/io/safetensors.h"
#include "io/gguf.h"
#include "text/files/stored_vocabulary.h"

namespace heed {

/// How a tensor is rearranged between GGUF and the hub's layout.
enum class GgufChange : std::uint8_t {
  kNone,
  kQueryRows,   // rows of a rotated pair stand side by side; the hub has the first of all pairs,
                // then the second
  kKeyRows,     // the same, of the heads of keys
  kTransposed,  // the hub has [in, out]
  kLessOne,     // the hub has the weight without the 1 that the norm adds
};

/// One tensor's name in a file and on the hub; `#` stands for the layer, endings as ".weight" are
/// common to both.
struct GgufName {
  std::string_view stored;
  std::string_view hub;
  GgufChange change = GgufChange::kNone;
};

/// Interleaves the rows of each head, which are `groups` groups of n: the first rows of all groups,
/// then the second ones. [heads, groups, n, width] becomes [heads, n, groups, width].
Tensor regrouped(const Tensor& rows, std::int64_t heads, std::int64_t groups);

struct GgufArchitecture;

class GgufModel final : public TensorFile {
 public:
  static std::shared_ptr<const GgufModel> open(const std::filesystem::path& path);

  /// As the hub's model of this architecture would have it.
  std::string config_json() const;
  StoredVocabulary vocabulary() const;
  /// The type of most numbers: "Q4_K".
  std::string stored_in() const;

  const std::filesystem::path& path() const override { return file_.path(); }
  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return tensors_.contains(name); }
  TensorKind kind(const std::string& name) const override;
  ConstView tensor(const std::string& name) const override;
  Tensor mapped(const std::string& name) const override;
  Tensor load_f32(const std::string& name) const override;
  void release(const std::string& name) const override;
  const std::map<std::string, std::string>& metadata() const override;

 private:
  struct Entry {
    const GgufTensor* tensor;
    GgufChange change;
  };

  explicit GgufModel(Gguf file);
  const Entry& entry(const std::string& name) const;
  /// The type of a tensor whose bytes in the file are the parameter.
  static std::optional<DType> plain_type(const Entry& entry);
  Tensor read(const Entry& entry) const;
  std::int64_t heads_of(GgufChange change) const;

  Gguf file_;
  const GgufArchitecture& architecture_;
  std::map<std::string, Entry, std::less<>> tensors_;  // by the hub's names
  mutable std::mutex guard_;
  mutable std::map<std::string, Tensor, std::less<>> read_;  // what views of `tensor` show
};

}  // namespace heed
