// Arrays of other libraries, seen without a copy, and heed's own, handed out without one.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>  // wherever strings are cast, or it is undefined behaviour

#include <cstdint>
#include <memory>
#include <optional>
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

/// Nothing where the object has no buffer, as NumPy's arrays of ml_dtypes have none. Elements are
/// what the buffer says, or `type` where that is given.
std::optional<Borrowed> from_buffer(const char* argument, nb::handle object,
                                    std::optional<DType> type = {});

/// By `__dlpack__`.
Borrowed from_capsule(const char* argument, nb::handle object);

/// By the table of functions that a type may offer, which spares the calls through Python (PyTorch
/// from 2.10 on: 0.4 us in place of 3 us).
struct DlExchange;
const DlExchange* exchange_of(const char* argument, nb::handle object);  // null: it has none
Borrowed from_exchange(const char* argument, nb::handle object, const DlExchange& exchange,
                       Hold hold);

/// A torch.Tensor, not of a subclass, that no tracer or transform of PyTorch watches.
bool is_plain_tensor(nb::handle object);

/// Autograd makes tensors of zeros without memory: torch._efficientzerotensor.
bool is_lazy_zero(nb::handle object);

/// The tensor, or a copy whose bytes are its values. Refuses a tensor with a forward-mode tangent.
nb::object values_of(const char* argument, nb::object object);

/// The tensor, to whose memory heed writes values.
nb::object as_output(const char* argument, nb::object object);

/// Refuses a subclass that overrides PyTorch's functions: its own memory may be unused.
void check_tensor_type(const char* argument, nb::handle type);

}  // namespace heed::python
