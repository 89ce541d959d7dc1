// Activations on their way past the tap.
#pragma once

#include "heed/nn/run.h"

namespace heed {

/// Shows the activations of one layer, and gives them on.
struct Shown {
  const Run& run;
  Stack stack = Stack::kSelf;
  int layer = -1;

  Tensor operator()(TapKind kind, Tensor value) const {
    run.show({.stack = stack, .layer = layer, .kind = kind}, value);
    return value;
  }
};

}  // namespace heed
