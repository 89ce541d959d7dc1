#include "nn/dropout.h"

#include "ops/dropout.h"

namespace heed {

Tensor DropoutLayer::forward(Tensor x, const Run& run) const {
  if (active(run) && x.element_count() > 0)  // so there is a seed
    dropout(x, {.rate = rate,
                .seed = run.dropout_seed.value_or(0),
                .site = site,
                .first = run.first_row * (x.element_count() / x.dim(0))});
  return x;
}

Tensor DropoutLayer::backward(const Tensor& dy, const Run& run) const {
  return active(run) ? forward(dy.clone(), run) : dy.share();
}

}  // namespace heed
