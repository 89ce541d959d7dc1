// The residual stream at one depth of a model.
#pragma once

#include "heed/nn/tap.h"
#include "heed/tensor.h"

namespace heed {

/// The residual stream of what the model writes (of an encoder: of what it reads) at one depth.
struct StreamLevel {
  TapKind kind = TapKind::kResidual;  // kEmbedding, kMiddle (behind an attention) or kResidual
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1: the embedding
  Tensor value;    // [T, C]
};

}  // namespace heed
