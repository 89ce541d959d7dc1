// One pass of a model: its parameters, who watches it, and how it runs.
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

/// How the weight of a linear layer lies in the model file.
enum class WeightLayout : std::uint8_t {
  kInOut,  // GPT-2's Conv1D
  kOutIn,  // torch.nn.Linear
};

/// A named tensor of a layer, f32 unless a model was loaded to run. The name is the one in the
/// model file.
struct Parameter {
  std::string name;
  Tensor value;            // not given where `packed` has the numbers
  bool decays = true;      // weight decay applies (matrices: yes; biases, norms: no)
  bool stacked = false;    // of an expert: files have those of all in one tensor
  bool looked_up = false;  // a table, of which rows alone are read: any floating type will do
  std::optional<WeightLayout> linear = {};          // set: the weight of a linear layer
  std::shared_ptr<const PackedMatrix> packed = {};  // set by `pack`

  std::int64_t element_count() const;
  DType dtype() const;              // in which the numbers are held, f32 of codes
  std::string held_in() const;      // "bf16"; of codes "Q4_K"
  std::int64_t held_bytes() const;  // of the numbers, without what panels add
  bool is_streamed() const;         // its numbers stay in the file between two products
};

/// Brings the weights of linear layers into the form that products read best, rounded to `dtype`
/// (f32, f16 or bf16), in place of the plain ones. Such a model runs forward; it can be neither
/// trained nor saved. A weight that embeddings share is packed too.
void pack(std::span<Parameter* const> parameters, DType dtype);
/// One of them, with the numbers of `value`, of any floating type.
void pack(Parameter& parameter, const ConstView& value, DType dtype);
/// With the numbers of blocks, u8 [outputs, bytes of a row], which stay codes: of a linear layer,
/// or a table whose rows are looked up.
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

/// The type of packed weights, f32 of codes; f32 where none is packed.
DType packed_type(std::span<const Parameter* const> parameters);

/// The gradient of each parameter, zero until something is added.
class Gradients {
 public:
  /// f32, of the parameter's shape; made on first use.
  Tensor& of(const Parameter& parameter);
  /// Null where nothing was added.
  const Tensor* find(const Parameter& parameter) const;
  /// Sets all to zero and keeps the memory for the next step.
  void clear();

 private:
  std::unordered_map<const Parameter*, Tensor> gradients_;
};

enum class TapKind : std::uint8_t {
  kEmbedding,       // [B, T, C] after embedding and position
  kAttentionInput,  // [B, T, C] what the attention reads: the normed stream, where norms come first
  kQuery,           // [B, H, T, D] as scored (after norm and rotation), a strided view
  kKey,             // [B, G, T, D]; before the rotation where a cache keeps keys so (nn/rotation.h)
  kValue,           // [B, G, T, Dv]
  kHeads,           // [B, H, T, Dv] what the heads gave, before the output projection
  kAttention,       // [B, T, C] what the attention block adds to the residual stream
  kMiddle,          // [B, T, C] the stream between attention and MLP
  kMlpInput,        // [B, T, C] what the MLP reads
  kMlpHidden,       // [B, T, F] before the activation; of a gated MLP the gate
  kMlpActive,       // [B, T, F] what the MLP's last layer reads
  kMlp,             // [B, T, C] what the MLP adds
  kResidual,        // [B, T, C] after the layer
  kFinal,           // [B, T, C] after the last norm
  kLogits,          // [B, T, V]
};

/// The attentions of a model by name: a decoder or an encoder alone has `self`, the others belong
/// to models that have both.
enum class Stack : std::uint8_t { kSelf, kEncoder, kDecoder, kCross };

/// "self", "encoder", "decoder", "cross".
std::string_view stack_name(Stack stack);
std::optional<Stack> stack_of(std::string_view name);

/// Which activation. Those of a pass as a whole (layer -1) carry the stack whose stream they are:
/// kSelf, or kEncoder and kDecoder.
struct TapName {
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1 where the kind belongs to no layer
  TapKind kind = TapKind::kResidual;
};

/// Sees every named activation and may overwrite it in place (not while training: backward does not
/// know of it).
class Tap {
 public:
  virtual ~Tap() = default;
  virtual void at(const TapName& name, View value);
  /// One finished attention: its arguments (views that live only during the call) and its
  /// log-sum-exp.
  virtual void attended(const TapName& name, const AttentionArgs& args,
                        const AttendedConstView& attended);
  /// A mask to add, by head; the default adds none.
  virtual Mask mask(Stack stack, int layer);
};

/// Activations that `backward` needs, as a stack: each layer's backward takes what its forward put,
/// in reverse.
class Saved {
 public:
  void put(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  Tensor take();
  bool empty() const { return tensors_.empty(); }
  std::int64_t bytes() const;  // memory that is shared counts each time

 private:
  std::vector<Tensor> tensors_;
};

/// Which activations `backward` makes again instead of finding them in `Saved`: a little more than
/// a forward pass of those branches for the memory of what is inside of them. The bits are the
/// same.
enum class Recompute : std::uint8_t {
  kNothing,
  kAttention,  // what is inside of attentions
  kBlocks,     // of MLPs, too: a branch keeps its input alone
};

/// From how many rows on `Run::in_bulk` is faster (GPT-2 small, a CPU with AMX).
inline constexpr std::int64_t kBulkRows = 64;

struct Run {
  Saved* saved = nullptr;  // null: keep nothing; no backward will follow
  Recompute recompute = Recompute::kNothing;
  Tap* tap = nullptr;        // null: nobody looks
  KvCache* cache = nullptr;  // null: a pass sees its own tokens only; else it goes on from there
  /// The extents of every self-attention (padding). With a cache, query_length alone may be given.
  Extents extents = {};
  /// Set: dropout is on (training), and every mask is a function of this seed.
  std::optional<std::uint64_t> dropout_seed = {};
  /// Where this pass's rows begin in the batch that `dropout_seed` is for.
  std::int64_t first_row = 0;
  /// Logits for the last token of each row only ([B, 1, V]).
  bool last_position_only = false;
  /// Linear layers use the matrix product for many rows (ops/matmul.h): for training and for
  /// reading long texts.
  bool in_bulk = false;
  /// Linear layers with plain weights multiply bf16 where that is faster (ops/matmul.h): weights
  /// and activations are rounded on their way, gradients too.
  bool bf16 = false;

  /// Tokens of each row in a pass over [batch, length]: extents.query_length, checked.
  std::vector<std::int64_t> row_lengths(std::int64_t batch, std::int64_t length) const;

  /// Shows an activation to the tap, if there is one.
  void show(const TapName& name, const View& value) const {
    if (tap != nullptr) tap->at(name, value);
  }
};

}  // namespace heed
