#include "nn/dropout.h"

#include "ops/elementwise.h"

namespace heed {

// Each row has its own range of random numbers: its masks depend neither on other rows nor on their
// lengths.
Tensor DropoutLayer::forward(Tensor x, const Run& run) const {
  constexpr std::int64_t kRow = std::int64_t{1} << 36;  // more than a row uses
  if (!active(run) || x.element_count() == 0) return x;
  for (std::int64_t row = 0; row < x.dim(0); ++row)
    dropout(x.view().select(0, row), {.rate = rate,
                                      .seed = run.dropout_seed.value_or(0),  // there is one
                                      .site = site,
                                      .first = (run.first_row + row) * kRow});
  return x;
}

Tensor DropoutLayer::backward(const Tensor& dy, const Run& run) const {
  return active(run) ? forward(dy.clone(), run) : dy.share();
}

}  // namespace heed
