#include "heed/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"
#include "tensor/memory.h"
#include "tensor/text.h"
#include "tensor/views.h"

namespace heed {
namespace {

std::size_t checked_bytes(const Shape& shape, DType dtype) {
  require_enumerator("tensor", "dtype", dtype, DType::kBool);
  auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
  bool fits = true;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) fail("tensor", "shape", to_string(shape), "extents of 0 or more");
    empty = empty || dim == 0;
    fits = fits && !__builtin_mul_overflow(bytes, dim, &bytes);
  }
  if (!empty && (!fits || bytes > std::numeric_limits<std::int64_t>::max() - 64))
    fail("tensor", "shape", to_string(shape),
         fmt::format("less than 2^63 bytes of {}", name(dtype)));
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

// Calls `use` with a zero of the floating type.
void with_float_type(DType dtype, const auto& use) {
  if (dtype == DType::kF64) use(double{});
  if (dtype == DType::kF32) use(float{});
  if (dtype == DType::kF16) use(f16{});
  if (dtype == DType::kBF16) use(bf16{});
}

// 16-bit types convert through float; f64 -> f16 rounds twice, which matters only for model files
// in f64.
template <typename To, typename From>
To round_to(From value) {
  if constexpr (sizeof(From) == 2) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (sizeof(To) == 2) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  const std::size_t bytes = checked_bytes(shape, dtype);
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Tensor tensor;
  const std::size_t taken = std::max(rounded, kAlignment);
  std::byte* memory = take_block(taken);
  if (memory == nullptr)
    fail({.code = ErrorCode::kFailed,
          .op = "tensor",
          .found = fmt::format("out of memory: {} takes {}", to_string(dtype, shape),
                               number_of(bytes, "byte"))});
  tensor.memory_ =
      std::shared_ptr<std::byte>(memory, [taken](std::byte* freed) { give_block(freed, taken); });
  tensor.view_ = View(memory, dtype, shape);
  return tensor;
}

Tensor Tensor::over(std::shared_ptr<const void> owner, const ConstView& view) {
  if (!view.is_contiguous()) fail("tensor", "view", to_string(view), "row-major");
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(view.raw()));
  Tensor tensor;
  tensor.memory_ = std::shared_ptr<std::byte>(std::move(owner), bytes);
  tensor.view_ = View(bytes, view.dtype(), view.shape());
  return tensor;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor tensor = empty(shape, dtype);
  std::memset(tensor.view_.raw(), 0,
              static_cast<std::size_t>(shape.element_count()) * size_bytes(dtype));
  return tensor;
}

Tensor Tensor::copy_of(const ConstView& view) {
  Tensor tensor = empty(view.shape(), view.dtype());
  if (!view.is_contiguous())
    copy_elements(view, tensor);
  else if (view.element_count() > 0)
    std::memcpy(tensor.view_.raw(), view.raw(), byte_count(view));
  return tensor;
}

Tensor Tensor::converted(const ConstView& view, DType dtype) {
  Tensor source = copy_of(view);
  if (dtype == view.dtype()) return source;
  if (!is_floating(dtype) || !is_floating(view.dtype()))
    fail("tensor", "dtype", name(dtype),
         fmt::format("a floating type, as {} is one", name(view.dtype())));
  Tensor result = empty(view.shape(), dtype);
  with_float_type(source.dtype(), [&](auto from) {
    with_float_type(dtype, [&](auto to) {
      using To = decltype(to);
      const auto* in = source.data<decltype(from)>();
      auto* out = result.data<To>();
      for (std::int64_t i = 0; i < source.element_count(); ++i) out[i] = round_to<To>(in[i]);
    });
  });
  return result;
}

Tensor Tensor::reshaped(const Shape& shape) && {
  Tensor result = std::move(*this);
  result.view_ = result.view_.reshape(shape);
  return result;
}

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
