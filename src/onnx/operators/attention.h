// Shared by the operators on heads: layout of heads, the mask, the scores.
#pragma once

#include "heed/attention.h"
#include "heed/mask.h"
#include "onnx/operators.h"

namespace heed::onnx {

/// The mask and the additive bias; owns the memory viewed by `args`.
class AttentionMask {
 public:
  /// `past` keys precede those of K; `total` counts both.
  AttentionMask(const NodeCall& call, std::int64_t queries, std::int64_t past, std::int64_t total);

  /// Sets extents, mask and bias; the bias in the type `computed`.
  void apply(AttentionArgs& args, DType computed);

 private:
  Tensor attn_mask_;  // as long as the keys; not given: no mask
  Extents extents_;
  Band band_;
  Tensor bias_;
};

enum class ScoreStage : std::uint8_t { kRaw, kAfterSoftcap, kAfterMask, kAfterSoftmax };

/// [B, H, Tq, Tk] after a stage, in quadratic memory, as the operator requires. Before the mask it
/// is defined at every pair; after it masked pairs are -inf, and after the softmax 0.
Tensor scores_after(ScoreStage stage, const AttentionArgs& args, const Attended& attended);

/// [B, T, H D] viewed as [B, H, T, D]; four axes are unchanged.
ConstView with_heads(const ConstView& x, std::int64_t heads, std::string_view what);

/// [B, H, T, D] as [B, T, H D] if the input had three axes.
Tensor packed_heads(Tensor y, bool packed);

}  // namespace heed::onnx
