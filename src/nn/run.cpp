#include "heed/nn/run.h"

#include <fmt/format.h>

#include "heed/error.h"

namespace heed {

Tensor Saved::take() {
  if (tensors_.empty())
    fail("backward", "run.saved", "empty", "what the forward pass of the same run kept");
  Tensor top = std::move(tensors_.back());
  tensors_.pop_back();
  return top;
}

std::int64_t Saved::bytes() const {
  std::int64_t sum = 0;
  for (const Tensor& tensor : tensors_)
    sum += tensor.element_count() * static_cast<std::int64_t>(size_bytes(tensor.dtype()));
  return sum;
}

std::vector<std::int64_t> Run::row_lengths(std::int64_t batch, std::int64_t length) const {
  const std::vector<std::int64_t>& given = extents.query_length;
  const auto rows = static_cast<std::size_t>(batch);
  if (given.size() > 1 && given.size() != rows)
    fail("run", "extents.query_length", fmt::format("a list of {}", given.size()),
         fmt::format("none, one or {} entries (the batch)", batch));
  for (const std::int64_t tokens : given)
    if (tokens < 0 || tokens > length)
      fail("run", "extents.query_length", tokens, fmt::format("0 to {}, the tokens given", length));
  if (given.size() == rows) return given;
  return std::vector<std::int64_t>(rows, given.empty() ? length : given[0]);
}

}  // namespace heed
