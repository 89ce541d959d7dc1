// One pass of a model: its parameters, the observers of its activations, and how it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/nn/kv_cache.h"
#include "heed/tensor.h"

namespace heed {

class PackedMatrix;
struct BlockType;

/// The layout of a linear layer's weight in the model file.
enum class WeightLayout : std::uint8_t {
  kInOut,  // GPT-2's Conv1D
  kOutIn,  // torch.nn.Linear
};

/// A named tensor of a layer; f32 unless a model was loaded for running only. The name is that of
/// the model file.
struct Parameter {
  std::string name;
  Tensor value;            // not given if `packed` holds the numbers
  bool decays = true;      // weight decay applies (matrices: yes; biases, norms: no)
  bool stacked = false;    // one expert of several that share a tensor in the file
  bool looked_up = false;  // a table used only by row look-up: any floating type works
  std::optional<WeightLayout> linear = {};          // set if it is the weight of a linear layer
  std::shared_ptr<const PackedMatrix> packed = {};  // set by `pack`

  std::int64_t element_count() const;
  DType dtype() const;              // in which the numbers are held, f32 of codes
  std::string held_in() const;      // "bf16"; of codes "Q4_K"
  std::int64_t held_bytes() const;  // of the numbers, without what panels add
  bool is_streamed() const;         // its numbers stay in the file between two products
};

/// Converts the weights of linear layers, in place, to the form that matrix products read best,
/// rounded to `dtype` (f32, f16 or bf16). The model can then run forward only; it can be neither
/// trained nor saved. A weight shared with embeddings is packed too.
void pack(std::span<Parameter* const> parameters, DType dtype);
/// Packs one of them with the numbers of `value`, of any floating type.
void pack(Parameter& parameter, const ConstView& value, DType dtype);
/// Packs quantised blocks, u8 [outputs, bytes per row], which stay quantised: for a linear layer or
/// a look-up table.
void pack(Parameter& parameter, const BlockType& type, const ConstView& rows);
/// The form in which products read the weight of a linear layer.
PackedMatrix packed_form(WeightLayout layout, const ConstView& value, DType dtype);
/// Leaves the numbers of a linear layer's weight in the file. `read` packs them, as `dtype` or in
/// `blocks`, whenever a product needs them.
void stream(Parameter& parameter, DType dtype, const BlockType* blocks,
            std::function<PackedMatrix()> read);
/// Packs the numbers of streamed parameters, which stay in memory from here on.
void hold(std::span<Parameter* const> parameters);
/// Whether `pack` changes it: the weight of a linear layer, where panels are the faster form.
bool is_packed(const Parameter& parameter, DType dtype);

/// The type of packed weights, f32 if quantised; f32 if none is packed.
DType packed_type(std::span<const Parameter* const> parameters);

/// The gradient of each parameter, zero at first.
class Gradients {
 public:
  /// f32, with the parameter's shape; allocated on first use.
  Tensor& of(const Parameter& parameter);
  /// Null if nothing was added.
  const Tensor* find(const Parameter& parameter) const;
  /// Sets all gradients to zero and keeps the memory for the next step.
  void clear();

 private:
  std::unordered_map<const Parameter*, Tensor> gradients_;
};

enum class TapKind : std::uint8_t {
  kEmbedding,       // [B, T, C] after embedding and position
  kAttentionInput,  // [B, T, C] input of the attention: after the norm, in pre-norm models
  kQuery,           // [B, H, T, D] as scored (after norm and rotation), a strided view
  kKey,             // [B, G, T, D]; unrotated if the cache keeps such keys (nn/rotation.h)
  kValue,           // [B, G, T, Dv]
  kHeads,           // [B, H, T, Dv] output of the heads, before the output projection
  kAttention,       // [B, T, C] what the attention block adds to the residual stream
  kMiddle,          // [B, T, C] the stream between attention and MLP
  kMlpInput,        // [B, T, C] input of the MLP
  kMlpHidden,       // [B, T, F] before the activation; the gate in a gated MLP
  kMlpActive,       // [B, T, F] input of the MLP's last layer
  kMlp,             // [B, T, C] what the MLP adds
  kResidual,        // [B, T, C] after the layer
  kFinal,           // [B, T, C] after the last norm
  kLogits,          // [B, T, V]
};

/// The attention stacks of a model by name: a model with only a decoder or only an encoder has
/// `self`; models with both have the others.
enum class Stack : std::uint8_t { kSelf, kEncoder, kDecoder, kCross };

/// "self", "encoder", "decoder", "cross".
std::string_view stack_name(Stack stack);
std::optional<Stack> stack_of(std::string_view name);

/// Which activation. Activations of the whole pass (layer -1) have the stack of their stream:
/// kSelf, or kEncoder and kDecoder.
struct TapName {
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1 if the kind belongs to no layer
  TapKind kind = TapKind::kResidual;
};

/// Sees every named activation and may overwrite it in place (not during training: backward does
/// not take it into account).
class Tap {
 public:
  virtual ~Tap() = default;
  virtual void at(const TapName& name, View value);
  /// One finished attention: its arguments (views valid only during the call) and its log-sum-exp.
  virtual void attended(const TapName& name, const AttentionArgs& args,
                        const AttendedConstView& attended);
  /// A mask to add, per head; the default adds none.
  virtual Mask mask(Stack stack, int layer);
};

/// Activations that `backward` needs, as a stack: each layer's backward pops what its forward
/// pushed, in reverse.
class Saved {
 public:
  void put(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  Tensor take();
  bool empty() const { return tensors_.empty(); }
  std::int64_t bytes() const;  // shared memory is counted each time

 private:
  std::vector<Tensor> tensors_;
};

/// Which activations `backward` recomputes instead of reading them from `Saved`: costs a little
/// more than a forward pass of those branches and saves the memory inside them. The bits are the
/// same.
enum class Recompute : std::uint8_t {
  kNothing,
  kAttention,  // the inside of attentions
  kBlocks,     // also the inside of MLPs: a branch keeps only its input
};

/// The number of rows from which `Run::in_bulk` is faster (GPT-2 small, a CPU with AMX).
inline constexpr std::int64_t kBulkRows = 64;

struct Run {
  Saved* saved = nullptr;  // null: keep nothing; no backward will follow
  Recompute recompute = Recompute::kNothing;
  Tap* tap = nullptr;        // null: no tap
  KvCache* cache = nullptr;  // null: a pass sees only its own tokens; else it continues the cache
  /// The extents of every self-attention (padding). With a cache, only query_length may be given.
  Extents extents = {};
  /// Set: dropout is on (training), and this seed determines every dropout mask.
  std::optional<std::uint64_t> dropout_seed = {};
  /// Index of this pass's first row in the batch that `dropout_seed` is for.
  std::int64_t first_row = 0;
  /// Compute logits only for the last token of each row ([B, 1, V]).
  bool last_position_only = false;
  /// Linear layers use the matrix product for many rows (ops/matmul.h): for training and for
  /// reading long texts.
  bool in_bulk = false;
  /// Linear layers with plain weights multiply in bf16 where that is faster (ops/matmul.h):
  /// weights, activations and gradients are rounded before the product.
  bool bf16 = false;

  /// Tokens of each row in a pass over [batch, length]: extents.query_length, checked.
  std::vector<std::int64_t> row_lengths(std::int64_t batch, std::int64_t length) const;

  /// Shows an activation to the tap, if there is one.
  void show(const TapName& name, const View& value) const {
    if (tap != nullptr) tap->at(name, value);
  }
};

}  // namespace heed
