#include "heed/nn/dropout.h"

#include "heed/ops/dropout.h"

namespace heed {

Tensor DropoutLayer::forward(Tensor x, const Run& run) const {
  if (run.dropout_seed && rate > 0)
    dropout(x, {.rate = rate, .seed = *run.dropout_seed, .site = site});
  return x;
}

Tensor DropoutLayer::backward(const Tensor& dy, const Run& run) const {
  return active(run) ? forward(dy.clone(), run) : dy.share();
}

}  // namespace heed
