// The memory of views: as bytes, by row, whether it is shared, and copies of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "heed/tensor.h"

namespace heed {

inline std::size_t byte_count(const ConstView& dense) {
  return static_cast<std::size_t>(dense.element_count()) * size_bytes(dense.dtype());
}

inline std::span<const std::byte> bytes_of(const ConstView& dense) {
  return {static_cast<const std::byte*>(dense.raw()), byte_count(dense)};
}

inline std::span<std::byte> writable_bytes_of(const View& dense) {
  return {static_cast<std::byte*>(dense.raw()), byte_count(dense)};
}

/// True if two different indices of the view are the same element.
bool overlaps_itself(const ConstView& view);

/// True when some element of `a` is one of `b`.
bool overlap(const ConstView& a, const ConstView& b);

/// A copy of a view whose elements may share memory (a stride of 0, a bias by distance). Elements
/// of the copy share it too, unless the memory between them would exceed that of a plain copy.
struct KeptView {
  Tensor memory = {};
  ConstView view = {};
};
KeptView kept(const ConstView& view);

/// Copies every element of `from` to its place in `to`, which has the same shape and type and
/// overlaps neither `from` nor itself.
void copy_elements(const ConstView& from, const View& to);

/// A row of a matrix [rows, n] of f32.
inline std::span<const float> matrix_row(const Tensor& matrix, std::int64_t row) {
  const std::int64_t width = matrix.dim(1);
  return {matrix.data<float>() + row * width, static_cast<std::size_t>(width)};
}

}  // namespace heed
