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

std::vector<std::int64_t> Run::row_lengths(std::int64_t batch, std::int64_t length) const {
  const std::vector<std::int64_t>& given = extents.query_length;
  const auto rows = static_cast<std::size_t>(batch);
  require(given.size() <= 1 || given.size() == rows,
          "run: extents.query_length has {} entries but the batch is {}: none, one or one a batch "
          "is expected",
          given.size(), batch);
  for (const std::int64_t tokens : given)
    require(tokens >= 0 && tokens <= length,
            "run: extents.query_length is {}, expected 0 to {}, the tokens given", tokens, length);
  if (given.size() == rows) return given;
  return std::vector<std::int64_t>(rows, given.empty() ? length : given[0]);
}

}  // namespace heed
