// A copy of what a view shows that keeps its form.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// The view's elements may share memory (a stride of 0, a bias by distance); those of the copy
/// share it, too, unless the memory between them would take more than a plain copy does.
struct KeptView {
  Tensor memory = {};
  ConstView view = {};
};
KeptView kept(const ConstView& view);

}  // namespace heed
