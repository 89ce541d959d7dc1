// Maps the names of a model's parameters to those in files, and says how they are held.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "heed/tensor.h"
#include "io/tensor_files.h"

namespace heed {

/// How a family's files spell the parameters' names.
struct Spelling {
  /// Omitted in files of the bare model: "transformer.". All names may be preceded by
  /// DistributedDataParallel's "module.".
  std::string_view prefix = {};
  /// Prefixes that files of larger models may put before all names: "transformer.".
  std::vector<std::string_view> wrappers = {};
  /// Endings of the oldest files: {".LayerNorm.weight", ".LayerNorm.gamma"}.
  std::vector<std::pair<std::string_view, std::string_view>> endings = {};
  /// Substitutes for absent tensors: {"model.encoder.embed_tokens.weight", "model.shared.weight"}.
  std::vector<std::pair<std::string, std::string>> otherwise = {};
  /// Parts of names of tensors that are not parameters: stored masks, copies of tied weights, heads
  /// for other tasks.
  std::vector<std::string_view> unused = {};
};

/// How to read the weights of a file.
struct Reading {
  /// For running only: the weights of linear layers are packed from the file into panels of this
  /// type (`pack`), one at a time, so that the model is in memory once. Look-up tables stay
  /// memory-mapped in the file's type. Quantised weights stay quantised. Empty: everything is read
  /// as f32.
  std::optional<DType> packed = {};
  bool in_memory = false;  // then these are copied, too
  /// Packed: the weights of linear layers stay in the file until a product packs them.
  bool streamed = false;
  /// Names, shapes and types are checked, and no number is read: the model cannot run.
  bool headers_only = false;
  /// Receives the names of tensors that the model does not use.
  std::vector<std::string>* unread = nullptr;
};

/// Of a tensor whose numbers are codes; its scales are in another one.
inline constexpr std::string_view kBlocksEnding = "_blocks";

/// The tensor that holds a parameter of every expert or head, and which of them it is:
/// "experts.3.up_proj.weight" is part 3 of "experts.up_proj.weight", and "q_norm.norms.3.weight" of
/// "q_norm.weight".
struct StackedName {
  std::string name;
  std::int64_t index = 0;

  bool has_blocks() const { return name.ends_with(kBlocksEnding); }
  std::string scales() const;  // of a tensor with blocks
};
std::optional<StackedName> stacked_name(const std::string& name);
/// The name with `%` for the number, as in `GgufName`: "experts.%.up_proj.weight".
std::string name_of_all(const std::string& name);
/// The spelling in gpt-oss: "experts.up_proj", "experts.up_proj_bias". Norms keep their ending.
std::string without_ending(const StackedName& stacked);

/// Stacks the parts of all experts or heads into one tensor.
Tensor stacked(std::span<const Tensor> parts, DType dtype);

class StoredWeights {
 public:
  StoredWeights(const Weights& weights, Spelling spelling)
      : weights_(weights), spelling_(std::move(spelling)) {}

  /// Whether the file holds a parameter, in any spelling.
  bool holds(const std::string& name) const { return find(name).has_value(); }
  /// Whether the file holds both with different numbers: then the supposed copy of tied weights is
  /// not one.
  bool differ(const std::string& copy, const std::string& original) const;
  /// Throws if they differ, because the model ties them.
  void require_copy(const std::string& copy, const std::string& original) const;
  /// Throws unless the file holds it with this shape. Called before memory is allocated for the
  /// layers and widths that a configuration claims.
  void require(const std::string& name, const Shape& shape) const;
  /// The numbers of a parameter as f32; throws unless the file holds it with this shape.
  Tensor numbers(const std::string& name, const Shape& shape) const {
    return weights_.load_f32(stored_name(name), shape);
  }
  /// Reads all parameters. A tensor of the file that is neither a parameter nor known to be unused
  /// is an error, because the model would compute something else.
  void load(std::span<Parameter* const> parameters, const Reading& reading) const;

 private:
  /// The tensor and part that hold a parameter, unless it is a tensor by itself.
  std::optional<StackedName> stacked(const std::string& name) const;
  /// The shape of the whole tensor; throws if the part is not in it.
  Shape require_part(const StackedName& part, const Shape& own) const;
  void load_part(Parameter& parameter, const StackedName& part, const Reading& reading) const;
  BlockRows read_blocks(const StackedName& part, const Shape& shape) const;
  void load_streamed(Parameter& parameter, const std::string& stored, const Reading& reading) const;
  void stream_part(Parameter& parameter, const StackedName& part, const Shape& whole,
                   const Reading& reading) const;
  void stream(Parameter& parameter, const std::string& stored, DType dtype, const BlockType* blocks,
              std::function<PackedMatrix(const StoredWeights&)> read) const;
  void load_to_run(Parameter& parameter, const std::string& stored, const Reading& reading) const;
  void load(Parameter& parameter, const std::string& stored, const Reading& reading) const;
  void check_rest(const std::set<std::string>& used, const Reading& reading) const;
  std::string stored_name(const std::string& name) const;
  std::optional<std::string> find(const std::string& name) const;  // as the file spells it

  struct SharedFile;

  const Weights& weights_;
  Spelling spelling_;
  mutable std::shared_ptr<SharedFile> shared_;  // with the parameters that are streamed
};

/// f32, f16 or bf16: the commonest type.
DType stored_type(const Weights& weights);

/// From here on, products of the model with weights in blocks round activations to 8 bits, 32
/// numbers with one scale, which is faster (ops/packed_matrix.h). Other weights are multiplied as
/// ever. kUnsupported if no weight is in blocks; the model must be loaded `packed`.
void round_activations(const LoadedModel& loaded);

}  // namespace heed
