// Views of other libraries' arrays without a copy, and heed's own arrays exported without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>  // needed wherever strings are cast; otherwise undefined behaviour

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed::python {

namespace nb = nanobind;

/// What keeps an array's memory alive: a separate reference, or the object itself during the call.
enum class Hold { kMemory, kCall };

/// Another library's array, kept alive by this object. The default represents None.
struct Borrowed {
  ConstView view;
  bool writable = false;
  std::shared_ptr<void> owner;  // released with the GIL held; empty for Hold::kCall

  bool given() const { return view.given(); }
  View writable_view() const;
};

/// Borrows an object that supports DLPack or the buffer protocol, in host memory; None gives
/// nothing. Errors name `argument`.
Borrowed borrow(nb::handle object, const char* argument, Hold hold = Hold::kMemory);

/// The same for memory that heed writes to.
Borrowed borrow_output(nb::handle object, const char* argument);

/// A tensor just made by heed, which needs no checks.
Borrowed borrow_own(nb::handle tensor);

/// An array that any library accepts by DLPack, and NumPy also by the buffer protocol.
using Exported = nb::ndarray<nb::array_api>;
nb::object exported(Tensor tensor);

/// A number, or a list or an array of them; None gives nothing.
std::vector<std::int64_t> integers(nb::handle object, const char* argument);
std::vector<double> numbers(nb::handle object, const char* argument);

/// Rejects a tensor that requires grad where only its numbers are read, so that no gradient would
/// reach it.
void check_gradient(const char* argument, nb::handle object);

/// For errors: an object's type ("a str", "an int"), and str(object).
std::string kind_of(nb::handle object);
std::string text_of(nb::handle object);
inline constexpr const char* kElements =
    "elements of float64, float32, float16, bfloat16, int64, int32, int8, uint8 or bool";

Shape shape_of(const char* argument, std::int64_t rank, const std::int64_t* dims);
nb::tuple shape_tuple(const Shape& shape);

void bind_arrays(nb::module_& module);

/// Empty if the object has no buffer, like NumPy arrays of ml_dtypes. Elements have the buffer's
/// type, or `type` if given.
std::optional<Borrowed> from_buffer(const char* argument, nb::handle object,
                                    std::optional<DType> type = {});

/// Borrows by `__dlpack__`.
Borrowed from_capsule(const char* argument, nb::handle object);

/// Borrows by the table of functions that a type may offer, which avoids calls through Python
/// (PyTorch from 2.10 on: 0.4 us instead of 3 us).
struct DlExchange;
const DlExchange* exchange_of(const char* argument, nb::handle object);  // null: the type has none
Borrowed from_exchange(const char* argument, nb::handle object, const DlExchange& exchange,
                       Hold hold);

/// A torch.Tensor, not of a subclass, without an active tracer or transform of PyTorch.
bool is_plain_tensor(nb::handle object);

/// Autograd makes tensors of zeros without memory: torch._efficientzerotensor.
bool is_lazy_zero(nb::handle object);

/// The tensor, or a copy whose bytes are its values. Rejects a tensor with a forward-mode tangent.
nb::object values_of(const char* argument, nb::object object);

/// The tensor as an output to which heed writes.
nb::object as_output(const char* argument, nb::object object);

/// Rejects a subclass that overrides PyTorch's functions, because its memory may be unused.
void check_tensor_type(const char* argument, nb::handle type);

}  // namespace heed::python
