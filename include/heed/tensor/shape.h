// The extents of a tensor: up to eight dimensions, no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace heed {

inline constexpr int kMaxRank = 8;

/// A short list of numbers: a shape or the strides of a view (in elements).
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);  // at most kMaxRank

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::int64_t element_count() const;  // 1 for rank 0
  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, kMaxRank> dims_ = {};
  int rank_ = 0;
};

/// `[2, 8, 17, 64]`, as error messages write it.
std::string to_string(const Shape& shape);

/// Row-major strides in elements.
Shape contiguous_strides(const Shape& shape);

}  // namespace heed
