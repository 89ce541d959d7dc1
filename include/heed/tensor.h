// Arrays of up to eight dimensions: Shape, the non-owning View and ConstView, and Tensor, which
// owns its memory.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "heed/dtype.h"

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

/// `[2, 8, 17, 64]`, as in error messages.
std::string to_string(const Shape& shape);

/// Row-major strides in elements.
Shape contiguous_strides(const Shape& shape);

class Tensor;

/// A read-only view. The empty view (default) means "not given". Strides count elements and may be
/// 0 (broadcast). Copying a view copies no data.
class ConstView {
 public:
  ConstView() = default;
  ConstView(const void* data, DType dtype, const Shape& shape);  // row-major
  ConstView(const void* data, DType dtype, const Shape& shape, const Shape& strides);
  // A temporary tensor may be passed as `const ConstView&`; storing a view of it would dangle.
  template <typename T>
    requires std::same_as<std::remove_const_t<T>, Tensor>
  ConstView(T&&) = delete;
  template <typename T>
    requires std::same_as<std::remove_const_t<T>, Tensor>
  ConstView& operator=(T&&) = delete;

  /// False only for the default view: a view with an extent of 0 is given.
  bool given() const { return given_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int axis) const;     // negative axes count from the end
  std::int64_t stride(int axis) const;  // in elements; negative axes count from the end
  std::int64_t element_count() const { return shape_.element_count(); }
  bool is_contiguous() const;
  bool is_aligned() const;  // to its type; data in a file may be unaligned
  const void* raw() const { return data_; }

  /// The first element as T, which must be the view's type.
  template <typename T>
  const T* data() const {
    check_type(DTypeOf<T>::value);
    return static_cast<const T*>(data_);
  }

  ConstView slice(int axis, std::int64_t begin, std::int64_t end) const;
  ConstView select(int axis, std::int64_t index) const;  // removes the axis
  ConstView permute(std::initializer_list<int> order) const;
  ConstView reshape(const Shape& shape) const;       // contiguous views only
  ConstView broadcast_to(const Shape& shape) const;  // right-aligned, by stride 0

 protected:
  void check_type(DType wanted) const;

  const void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  bool given_ = false;
  Shape shape_ = {0};
  Shape strides_ = {1};
};

/// A view that may be written through.
class View : public ConstView {
 public:
  View() = default;
  View(void* data, DType dtype, const Shape& shape) : ConstView(data, dtype, shape) {}
  View(void* data, DType dtype, const Shape& shape, const Shape& strides)
      : ConstView(data, dtype, shape, strides) {}

  void* raw() const { return const_cast<void*>(data_); }
  template <typename T>
  T* data() const {
    return const_cast<T*>(ConstView::data<T>());
  }

  View slice(int axis, std::int64_t begin, std::int64_t end) const;
  View select(int axis, std::int64_t index) const;
  View permute(std::initializer_list<int> order) const;
  View reshape(const Shape& shape) const;

 private:
  explicit View(const ConstView& view) : ConstView(view) {}
};

/// Owning, row-major, 64-byte aligned. Movable, but never copied implicitly: `clone` copies,
/// `share` makes a second owner.
/// Converts to View and ConstView. A temporary converts only to an argument `const ConstView&`,
/// because a stored view would outlive its memory.
class Tensor {
 public:
  Tensor() = default;  // "no tensor": shape [0], not given()
  Tensor(Tensor&& other) noexcept
      : memory_(std::move(other.memory_)), view_(std::exchange(other.view_, {})) {}
  Tensor& operator=(Tensor&& other) noexcept {
    memory_ = std::move(other.memory_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }

  static Tensor empty(const Shape& shape, DType dtype = DType::kF32);  // not initialised
  static Tensor zeros(const Shape& shape, DType dtype = DType::kF32);
  static Tensor copy_of(const ConstView& view);  // any strides in, row-major out

  /// Row-major memory kept alive by `owner` (a mapped file), without a copy; it must not be written
  /// to.
  static Tensor over(std::shared_ptr<const void> owner, const ConstView& view);

  /// Like `copy_of`, in another floating type: rounds to nearest even.
  static Tensor converted(const ConstView& view, DType dtype);

  Tensor clone() const { return copy_of(view()); }

  /// Another owner of the same memory, which must not be written to afterwards. A pass keeps
  /// activations this way without copying.
  Tensor share() const {
    Tensor other;
    other.memory_ = memory_;
    other.view_ = view_;
    return other;
  }

  const Shape& shape() const { return view_.shape(); }
  DType dtype() const { return view_.dtype(); }
  int rank() const { return view_.rank(); }
  std::int64_t dim(int axis) const { return view_.dim(axis); }
  std::int64_t element_count() const { return view_.element_count(); }
  bool given() const { return view_.given(); }

  View view() { return view_; }
  ConstView view() const { return view_; }
  operator View() & { return view_; }                   // NOLINT(google-explicit-constructor)
  operator const ConstView&() & { return view_; }       // NOLINT(google-explicit-constructor)
  operator const ConstView&() const& { return view_; }  // NOLINT(google-explicit-constructor)

  template <typename T>
  T* data() {
    return view_.data<T>();
  }
  template <typename T>
  const T* data() const {
    return view_.data<T>();
  }

  /// The same memory with another shape of the same element count.
  Tensor reshaped(const Shape& shape) &&;

 private:
  std::shared_ptr<std::byte> memory_;
  View view_;
};

}  // namespace heed
