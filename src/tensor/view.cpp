#include "heed/tensor/view.h"

#include "heed/base/error.h"
#include "tensor/shape_text.h"

namespace heed {
namespace {

int absolute_axis(int axis, int rank) {
  const int absolute = axis < 0 ? axis + rank : axis;
  require(absolute >= 0 && absolute < rank, "view: axis {} does not exist in rank {}", axis, rank);
  return absolute;
}

void* advance(const void* data, std::int64_t elements, DType dtype) {
  auto* bytes = static_cast<char*>(const_cast<void*>(data));
  return bytes == nullptr ? nullptr
                          : bytes + elements * static_cast<std::int64_t>(size_bytes(dtype));
}

}  // namespace

ConstView::ConstView(const void* data, DType dtype, const Shape& shape)
    : ConstView(data, dtype, shape, contiguous_strides(shape)) {}

ConstView::ConstView(const void* data, DType dtype, const Shape& shape, const Shape& strides)
    : data_(data), dtype_(dtype), given_(true), shape_(shape), strides_(strides) {
  require(shape.rank() == strides.rank(), "view: shape {} has {} dimensions but strides {} have {}",
          shape, shape.rank(), strides, strides.rank());
  for (const std::int64_t dim : shape)
    require(dim >= 0, "view: shape {} has a negative extent", shape);
}

std::int64_t ConstView::dim(int axis) const { return shape_[absolute_axis(axis, rank())]; }
std::int64_t ConstView::stride(int axis) const { return strides_[absolute_axis(axis, rank())]; }

bool ConstView::is_contiguous() const {
  std::int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[axis] != step) return false;
    step *= shape_[axis];
  }
  return true;
}

void ConstView::check_type(DType wanted) const {
  require(dtype_ == wanted, "view: elements are {} but {} was asked for", name(dtype_),
          name(wanted));
}

ConstView ConstView::slice(int axis, std::int64_t begin, std::int64_t end) const {
  axis = absolute_axis(axis, rank());
  require(0 <= begin && begin <= end && end <= shape_[axis],
          "view: slice [{}, {}) does not fit axis {} of {}", begin, end, axis, shape_);
  ConstView part = *this;
  part.data_ = advance(data_, begin * strides_[axis], dtype_);
  part.shape_[axis] = end - begin;
  return part;
}

ConstView ConstView::select(int axis, std::int64_t index) const {
  axis = absolute_axis(axis, rank());
  const ConstView part = slice(axis, index, index + 1);
  std::array<std::int64_t, kMaxRank> shape = {};
  std::array<std::int64_t, kMaxRank> strides = {};
  std::size_t count = 0;
  for (int other = 0; other < rank(); ++other) {
    if (other == axis) continue;
    shape[count] = shape_[other];
    strides[count++] = strides_[other];
  }
  return {part.data_, dtype_, Shape(std::span(shape).first(count)),
          Shape(std::span(strides).first(count))};
}

ConstView ConstView::permute(std::initializer_list<int> order) const {
  require(static_cast<int>(order.size()) == rank(), "view: permutation of {} axes for rank {}",
          order.size(), rank());
  ConstView result = *this;
  std::uint32_t taken = 0;
  int to = 0;
  for (const int from : order) {
    const int axis = absolute_axis(from, rank());
    require((taken >> axis & 1U) == 0, "view: axis {} is twice in the permutation [{}]", axis,
            fmt::join(order, ", "));
    taken |= 1U << axis;
    result.shape_[to] = shape_[axis];
    result.strides_[to++] = strides_[axis];
  }
  return result;
}

ConstView ConstView::reshape(const Shape& shape) const {
  require(is_contiguous(), "view: {} with strides {} is not contiguous and cannot be reshaped",
          shape_, strides_);
  require(shape.element_count() == element_count(), "view: {} cannot be reshaped to {}", shape_,
          shape);
  return {data_, dtype_, shape};
}

ConstView ConstView::broadcast_to(const Shape& shape) const {
  require(shape.rank() >= rank(), "view: {} cannot be broadcast to {}", shape_, shape);
  ConstView result(data_, dtype_, shape);
  const int missing = shape.rank() - rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool repeats = axis < missing || (shape_[axis - missing] == 1 && shape[axis] != 1);
    require(repeats || shape_[axis - missing] == shape[axis], "view: {} cannot be broadcast to {}",
            shape_, shape);
    result.strides_[axis] = repeats ? 0 : strides_[axis - missing];
  }
  return result;
}

View View::slice(int axis, std::int64_t begin, std::int64_t end) const {
  return View(ConstView::slice(axis, begin, end));
}
View View::select(int axis, std::int64_t index) const {
  return View(ConstView::select(axis, index));
}
View View::permute(std::initializer_list<int> order) const {
  return View(ConstView::permute(order));
}
View View::reshape(const Shape& shape) const { return View(ConstView::reshape(shape)); }

}  // namespace heed
