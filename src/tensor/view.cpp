#include <fmt/format.h>

#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "tensor/text.h"

namespace heed {
namespace {

int absolute_axis(int axis, int rank) {
  const int absolute = axis < 0 ? axis + rank : axis;
  if (absolute < 0 || absolute >= rank)
    fail("view", "axis", axis, fmt::format("one of rank {}", rank));
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
  require_enumerator("view", "dtype", dtype, DType::kBool);
  if (shape.rank() != strides.rank())
    fail("view", "strides", to_string(strides), fmt::format("as many as {} has dimensions", shape));
  for (const std::int64_t dim : shape)
    if (dim < 0) fail("view", "shape", to_string(shape), "extents of 0 or more");
}

std::int64_t ConstView::dim(int axis) const { return shape_[absolute_axis(axis, rank())]; }
std::int64_t ConstView::stride(int axis) const { return strides_[absolute_axis(axis, rank())]; }

bool ConstView::is_aligned() const {
  return std::bit_cast<std::uintptr_t>(data_) % size_bytes(dtype_) == 0;
}

bool ConstView::is_contiguous() const {
  std::int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[axis] != step) return false;
    step *= shape_[axis];
  }
  return true;
}

void ConstView::check_type(DType wanted) const {
  if (dtype_ != wanted)
    fail("view", "dtype", name(dtype_), fmt::format("{}, which was asked for", name(wanted)));
}

ConstView ConstView::slice(int axis, std::int64_t begin, std::int64_t end) const {
  axis = absolute_axis(axis, rank());
  if (0 > begin || begin > end || end > shape_[axis])
    fail("view", "slice", fmt::format("[{}, {})", begin, end),
         fmt::format("at most [0, {}) (axis {} of {})", shape_[axis], axis, shape_));
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
  if (static_cast<int>(order.size()) != rank())
    fail("view", "order", fmt::format("[{}]", joined(order, ", ")), fmt::format("{} axes", rank()));
  ConstView result = *this;
  std::uint32_t taken = 0;
  int to = 0;
  for (const int from : order) {
    const int axis = absolute_axis(from, rank());
    if ((taken >> axis & 1U) != 0)
      fail("view", "order", fmt::format("[{}]", joined(order, ", ")), "every axis once");
    taken |= 1U << axis;
    result.shape_[to] = shape_[axis];
    result.strides_[to++] = strides_[axis];
  }
  return result;
}

ConstView ConstView::reshape(const Shape& shape) const {
  if (!is_contiguous())
    fail("view", "strides", to_string(strides_),
         fmt::format("those of row-major {} to reshape it", shape_));
  if (shape.element_count() != element_count())
    fail("view", "shape", to_string(shape), fmt::format("as many elements as {} has", shape_));
  return {data_, dtype_, shape};
}

ConstView ConstView::broadcast_to(const Shape& shape) const {
  if (shape.rank() < rank())
    fail("view", "shape", to_string(shape), fmt::format("one that {} broadcasts to", shape_));
  ConstView result(data_, dtype_, shape);
  const int missing = shape.rank() - rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool repeats = axis < missing || (shape_[axis - missing] == 1 && shape[axis] != 1);
    if (!repeats && shape_[axis - missing] != shape[axis])
      fail("view", "shape", to_string(shape), fmt::format("one that {} broadcasts to", shape_));
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
