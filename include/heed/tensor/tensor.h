// Tensor: row-major memory that owns itself.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "heed/tensor/view.h"

namespace heed {

/// Owning, row-major, 64-byte aligned. Moves, and never copies by accident: `clone` copies, `share`
/// makes a second owner.
/// Converts to View and ConstView wherever one is asked for. A temporary one is only an argument
/// `const ConstView&`: a view that is kept would outlive its memory.
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

  /// What `owner` keeps alive, without a copy, row-major; nobody may write to it: a mapped file's.
  static Tensor over(std::shared_ptr<const void> owner, const ConstView& view);

  /// As `copy_of`, in another floating type: rounds to nearest even.
  static Tensor converted(const ConstView& view, DType dtype);

  Tensor clone() const { return copy_of(view()); }

  /// Another owner of the same memory, which nobody should write to from then on. A pass keeps an
  /// activation this way without a copy.
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

  /// The same memory under another shape of as many elements.
  Tensor reshaped(const Shape& shape) &&;

 private:
  std::shared_ptr<std::byte> memory_;
  View view_;
};

}  // namespace heed
