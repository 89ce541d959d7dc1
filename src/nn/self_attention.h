// Multi-head self-attention with its projections (Vaswani et al. 2017, section 3.2.2).
#pragma once

#include <cstdint>
#include <vector>

#include "heed/masks/mask.h"
#include "nn/dropout.h"
#include "nn/linear.h"

namespace heed {

struct SelfAttentionShape {
  int layer = 0;  // as taps name it
  std::int64_t heads = 1;
  double scale = 1;
  Mask mask = {};  // the family's own (causal for decoders); a tap may add one
};

class SelfAttention {
 public:
  /// `qkv` maps C to 3 C: q, k, v beside each other, each its heads one after the other.
  SelfAttention(Linear qkv, Linear out, const SelfAttentionShape& shape, DropoutLayer dropout);

  Tensor forward(const Tensor& x, Run& run) const;  // [B, T, C]
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);

 private:
  AttentionArgs problem(const View& qkv, const Run& run) const;
  // Appends this pass's keys to the run's cache; the problem is over all that it then holds.
  void go_on_from_cache(AttentionArgs& args, KvCache& cache, const Run& run) const;

  Linear qkv_;
  Linear out_;
  SelfAttentionShape shape_;
  DropoutLayer dropout_;
};

}  // namespace heed
