// What one pass through a model needs. It belongs to the caller; layers are immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/nn/kv_cache.h"
#include "heed/nn/tap.h"
#include "heed/tensor.h"

namespace heed {

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
