#include "nn/dropout.h"

#include "ops/elementwise.h"

namespace heed {

// Each row has a stretch of its own: its masks depend neither on the rows beside it nor on how long
// those are.
Tensor DropoutLayer::forward(Tensor x, const Run& run) const {
  constexpr std::int64_t kRow = std::int64_t{1} << 36;  // more than a row has
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
