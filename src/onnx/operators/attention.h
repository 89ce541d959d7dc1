// What the operators on heads share: how heads are laid out, the mask, the scores.
#pragma once

#include "heed/attention.h"
#include "heed/mask.h"
#include "onnx/operators.h"

namespace heed::onnx {

/// The mask and the additive bias; owns the memory that `args` views.
class AttentionMask {
 public:
  /// `past` keys stand before those of K, of `total` together.
  AttentionMask(const NodeCall& call, std::int64_t queries, std::int64_t past, std::int64_t total);

  /// Sets extents, mask and bias; the bias in the type `computed`.
  void apply(AttentionArgs& args, DType computed);

 private:
  Tensor attn_mask_;  // as long as the keys; not given: none
  Extents extents_;
  Band band_;
  Tensor bias_;
};

enum class ScoreStage : std::uint8_t { kRaw, kAfterSoftcap, kAfterMask, kAfterSoftmax };

/// [B, H, Tq, Tk] after a stage; quadratic memory, as the operator asks for it. Before the mask it
/// is defined at every pair; masked pairs are -inf after it and 0 after the softmax.
Tensor scores_after(ScoreStage stage, const AttentionArgs& args, const Attended& attended);

/// [B, T, H D] seen as [B, H, T, D]; what has four axes as it is.
ConstView with_heads(const ConstView& x, std::int64_t heads, std::string_view what);

/// [B, H, T, D] as [B, T, H D], where the input had three axes.
Tensor packed_heads(Tensor y, bool packed);

}  // namespace heed::onnx
