#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/tensor.h"

namespace heed {

Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  if (dims.size() > kMaxRank)
    fail("shape", "rank", dims.size(), fmt::format("at most {}", kMaxRank));
  std::ranges::copy(dims, dims_.begin());
}

std::int64_t Shape::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : *this) count *= dim;
  return count;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(*this, other); }

std::string to_string(const Shape& shape) { return fmt::format("[{}]", joined(shape, ", ")); }

Shape contiguous_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace heed
