#include "heed/nn/run.h"

#include "heed/base/error.h"

namespace heed {

Tensor Saved::take() {
  require(!tensors_.empty(),
          "backward: nothing is saved; expected the forward pass of the same run to have kept its "
          "activations (run.saved)");
  Tensor top = std::move(tensors_.back());
  tensors_.pop_back();
  return top;
}

}  // namespace heed
