// Attention's attn_mask, nonpad_kv_seqlen, is_causal and windows as heed says them.
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

}  // namespace heed::onnx
