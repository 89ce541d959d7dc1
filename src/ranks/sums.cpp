#include "ranks/sums.h"

#include "ops/add.h"

namespace heed {

void add_part(const View& to, const ConstView& part) {
  const bool as_it_is = part.dtype() == to.dtype() && part.is_contiguous();
  const Tensor widened = as_it_is ? Tensor() : Tensor::converted(part, to.dtype());
  const ConstView terms = as_it_is ? part : widened.view();
  for (std::int64_t batch = 0; batch < to.dim(0); ++batch)
    for (std::int64_t head = 0; head < to.dim(1); ++head)
      add_to(to.select(0, batch).select(0, head), terms.select(0, batch).select(0, head));
}

}  // namespace heed
