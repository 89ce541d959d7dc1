// View and ConstView: a window on someone else's memory, with type, shape and strides. They own
// nothing; the memory must outlive them.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heed/tensor/dtype.h"
#include "heed/tensor/shape.h"

namespace heed {

class Tensor;

/// Read-only window. The empty view (default) stands for "not given". Strides count elements and
/// may be 0 (broadcast). Copying a view copies no data.
class ConstView {
 public:
  ConstView() = default;
  ConstView(const void* data, DType dtype, const Shape& shape);  // row-major
  ConstView(const void* data, DType dtype, const Shape& shape, const Shape& strides);
  // A temporary tensor may be an argument `const ConstView&`; a view that is kept would dangle.
  template <typename T>
    requires std::same_as<std::remove_const_t<T>, Tensor>
  ConstView(T&&) = delete;
  template <typename T>
    requires std::same_as<std::remove_const_t<T>, Tensor>
  ConstView& operator=(T&&) = delete;

  /// False for the default view only: a view with an extent of 0 is given.
  bool given() const { return given_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int axis) const;     // negative axes count from the end
  std::int64_t stride(int axis) const;  // in elements; negative axes count from the end
  std::int64_t element_count() const { return shape_.element_count(); }
  bool is_contiguous() const;
  bool is_aligned() const;  // to its type; what a file holds need not be
  const void* raw() const { return data_; }

  /// The first element as T, which must be the view's type.
  template <typename T>
  const T* data() const {
    check_type(DTypeOf<T>::value);
    return static_cast<const T*>(data_);
  }

  ConstView slice(int axis, std::int64_t begin, std::int64_t end) const;
  ConstView select(int axis, std::int64_t index) const;  // drops the axis
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

/// A window that may be written through.
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

}  // namespace heed
