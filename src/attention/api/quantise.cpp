#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/blocks.h"
#include "heed/attention.h"
#include "heed/error.h"
#include "tensor/text.h"

namespace heed {
namespace {

// One group: its integers, and the scale.
float quantise_group(const float* x, std::int64_t count, std::int8_t* to) {
  float largest = 0;
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(x[i]));
    finite = finite && std::isfinite(x[i]);
  }
  std::fill_n(to, count, std::int8_t{0});
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  const float scale = largest / 127;
  if (scale == 0) return 0;
  for (std::int64_t i = 0; i < count; ++i)  // clamped, because a denormal scale is coarse
    to[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(x[i] / scale), -127.0F, 127.0F));
  return scale;
}

std::int64_t rows_of(const ConstView& view) {
  return view.dim(-1) == 0 ? 0 : view.element_count() / view.dim(-1);
}

}  // namespace

Shape scales_shape(Shape shape) {
  std::int64_t& last = shape[shape.rank() - 1];
  last = (last + kElementsPerScale - 1) / kElementsPerScale;
  return shape;
}

Quantised quantise(const ConstView& x) {
  if (!x.given() || x.rank() < 1 || !is_floating(x.dtype()))
    fail("quantise", "x", to_string(x), "rows of f64, f32, f16 or bf16");
  const Tensor rows = Tensor::converted(x, DType::kF32);
  Quantised made = {.values = Tensor::empty(x.shape(), DType::kI8),
                    .scales = Tensor::empty(scales_shape(x.shape()))};
  const std::int64_t width = x.dim(-1), groups = made.scales.dim(-1);
  for_rows(rows_of(x), [&](std::int64_t row) {
    const float* from = rows.data<float>() + row * width;
    std::int8_t* to = made.values.data<std::int8_t>() + row * width;
    float* scale = made.scales.data<float>() + row * groups;
    for (std::int64_t i = 0; i < width; i += kElementsPerScale)
      *scale++ = quantise_group(from + i, std::min(kElementsPerScale, width - i), to + i);
  });
  return made;
}

Tensor dequantise(const ConstView& values, const ConstView& scales) {
  if (!values.given() || values.rank() < 1 || values.dtype() != DType::kI8)
    fail("dequantise", "values", to_string(values), "rows of i8");
  const Shape wanted = scales_shape(values.shape());
  if (!scales.given() || scales.shape() != wanted || scales.dtype() != DType::kF32)
    fail("dequantise", "scales", to_string(scales),
         fmt::format("{}: one for each {} of values {}", to_string(DType::kF32, wanted),
                     kElementsPerScale, to_string(values.shape())));
  const Tensor integers = Tensor::copy_of(values);
  const Tensor factors = Tensor::copy_of(scales);
  Tensor x = Tensor::empty(values.shape());
  const std::int64_t width = values.dim(-1), groups = wanted[wanted.rank() - 1];
  for_rows(rows_of(values), [&](std::int64_t row) {
    const std::int8_t* from = integers.data<std::int8_t>() + row * width;
    const float* scale = factors.data<float>() + row * groups;
    float* to = x.data<float>() + row * width;
    for (std::int64_t i = 0; i < width; ++i)
      to[i] = static_cast<float>(from[i]) * scale[i / kElementsPerScale];
  });
  return x;
}

}  // namespace heed
