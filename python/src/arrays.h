// Arrays of other libraries, seen without a copy, and heed's own, handed out without one.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>  // wherever strings are cast, or it is undefined behaviour

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed::python {

namespace nb = nanobind;

/// What keeps an array's memory: a hold of its own, or the object, which outlives the call.
enum class Hold { kMemory, kCall };

/// Somebody's array, alive as long as this. The default stands for None.
struct Borrowed {
  ConstView view;
  bool writable = false;
  std::shared_ptr<void> owner;  // released with the GIL held; none of Hold::kCall

  bool given() const { return view.given(); }
  View writable_view() const;
};

/// What speaks DLPack or the buffer protocol, in the host's memory; None gives nothing. Errors name
/// `argument`.
Borrowed borrow(nb::handle object, const char* argument, Hold hold = Hold::kMemory);

/// The same for memory that heed writes to.
Borrowed borrow_output(nb::handle object, const char* argument);

/// A tensor that heed has just made, which needs no checks.
Borrowed borrow_own(nb::handle tensor);

/// An array that any library takes by DLPack, and NumPy by the buffer protocol too.
using Exported = nb::ndarray<nb::array_api>;
nb::object exported(Tensor tensor);

/// A number, or a list or an array of them; None gives nothing.
std::vector<std::int64_t> integers(nb::handle object, const char* argument);
std::vector<double> numbers(nb::handle object, const char* argument);

/// Refuses a tensor that requires grad where it is only read as numbers, so no gradient would reach
/// it.
void check_gradient(const char* argument, nb::handle object);

/// For errors: what an object is ("a str", "an int"), and str(object).
std::string kind_of(nb::handle object);
std::string text_of(nb::handle object);
inline constexpr const char* kElements =
    "elements of float64, float32, float16, bfloat16, int64, int32, int8, uint8 or bool";

Shape shape_of(const char* argument, std::int64_t rank, const std::int64_t* dims);
nb::tuple shape_tuple(const Shape& shape);

void bind_arrays(nb::module_& module);

}  // namespace heed::python
