// Operands in the form that row kernels read: row-major f32 or f64.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// f32 for the 16-bit types, else the type itself.
inline DType computing_type(DType dtype) { return size_bytes(dtype) == 2 ? DType::kF32 : dtype; }

/// Calls `use` with a zero of the computing type, f64 or f32.
decltype(auto) in_computing_type(DType dtype, const auto& use) {
  return dtype == DType::kF64 ? use(double{}) : use(float{});
}

/// A floating view as row-major elements of its computing type: the view itself if it already is,
/// else a copy.
class Computable {
 public:
  explicit Computable(const ConstView& view) : view_(view) {
    const bool as_it_is = view.is_contiguous() && computing_type(view.dtype()) == view.dtype();
    if (as_it_is || !view.given()) return;
    copy_ = Tensor::converted(view, computing_type(view.dtype()));
    view_ = copy_;
  }
  const ConstView& view() const { return view_; }
  operator const ConstView&() const { return view_; }  // NOLINT(google-explicit-constructor)

 private:
  Tensor copy_;
  ConstView view_;
};

/// Rounds a result to the operand's type `dtype`, once, if that is a 16-bit type.
inline Tensor rounded(Tensor computed, DType dtype) {
  return computed.dtype() == dtype ? std::move(computed) : Tensor::converted(computed, dtype);
}

}  // namespace heed
