#include "arrays.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "dlpack.h"
#include "errors.h"

namespace heed::python {
namespace {

constexpr const char* kArray = "an array: NumPy's, PyTorch's, JAX's or any that has __dlpack__";

// Whether the attribute is True. Only PyTorch's tensors have it.
bool requires_gradient(nb::handle object) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  PyObject* const value = PyObject_GetAttr(object.ptr(), name);
  if (value == nullptr) PyErr_Clear();
  Py_XDECREF(value);
  return value == Py_True;
}

// A number, or the elements of a list. nanobind would convert any object with __float__.
template <typename Number>
bool read_number(const char* argument, nb::handle object, Number& number) {
  check_gradient(argument, object);
  return nb::try_cast(object, number);
}

nb::object without_gradient(const char* argument, nb::handle object) {
  if (!requires_gradient(object)) return nb::borrow(object);
  check_gradient(argument, object);
  return object.attr("detach")();
}

// NumPy knows ml_dtypes' bfloat16 by name, but offers no buffer for it.
std::optional<Borrowed> from_ml_dtypes(const char* argument, nb::handle object) {
  if (!nb::hasattr(object, "__array_interface__")) return {};
  const std::string type = text_of(object.attr("dtype"));
  if (type != "bfloat16") fail_type(argument, "an array of " + type, kElements);
  return from_buffer(argument, object.attr("view")("uint16"), DType::kBF16);
}

bool is_list(nb::handle object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
}

// The buffer of a masked array contains the values under its mask.
void check_masked(const char* argument, nb::handle object) {
  static PyObject* const array =
      nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  if (reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == array) return;
  if (nb::isinstance(object, nb::module_::import_("numpy").attr("ma").attr("MaskedArray")))
    fail_type(argument, "a MaskedArray",
              "an array without a mask: x.filled(0), and heed.keep(~x.mask)");
}

bool is_array(nb::handle object) {
  if (nb::isinstance<nb::str>(object) || nb::isinstance<nb::bytes>(object)) return false;
  return PyObject_CheckBuffer(object.ptr()) != 0 || nb::hasattr(object, "__dlpack__");
}

// A number, a list of numbers, or an array of the types that `take` accepts.
template <typename Number, typename Take>
std::vector<Number> list_of(nb::handle object, const char* argument, const char* expected,
                            const Take& take) {
  if (object.is_none()) return {};
  std::vector<Number> list;
  try {
    if (is_list(object)) {
      for (const nb::handle each : object) {
        list.emplace_back();
        if (!read_number(argument, each, list.back())) throw nb::cast_error();
      }
      return list;
    }
    Number one = 0;
    if (read_number(argument, object, one)) return {one};
  } catch (const nb::cast_error&) {
    fail_type(argument, text_of(object), expected);
  }
  if (!is_array(object)) fail_type(argument, kind_of(object), expected);
  const Borrowed array = borrow(object, argument);
  if (array.view.rank() > 1)
    fail({.argument = fmt::format("{}.shape", argument),
          .found = to_string(array.view.shape()),
          .expected = expected});
  const std::int64_t stride = array.view.rank() == 0 ? 0 : array.view.stride(0);
  for (std::int64_t i = 0; i < array.view.element_count(); ++i)
    list.push_back(take(array.view, i * stride));
  return list;
}

}  // namespace

std::string kind_of(nb::handle object) {
  const auto name = nb::cast<std::string>(object.type().attr("__name__"));
  const bool is_vowel = std::string_view("AEIOUaeiou").find(name.front()) != std::string_view::npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", name);
}

void check_gradient(const char* argument, nb::handle object) {
  if (PyFloat_CheckExact(object.ptr()) != 0 || PyLong_CheckExact(object.ptr()) != 0) return;
  if (!requires_gradient(object)) return;
  if (nb::cast<bool>(nb::module_::import_("torch").attr("is_grad_enabled")()))
    fail({.argument = argument,
          .found = "a tensor that requires grad",
          .expected = "one that does not, since no gradient would reach it",
          .hint = "pass it detached; heed.torch.scaled_dot_product_attention gives gradients of "
                  "attention, the functions that end in _backward those of others"});
}

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

Shape shape_of(const char* argument, std::int64_t rank, const std::int64_t* dims) {
  if (rank > kMaxRank)
    fail({.argument = fmt::format("{}.ndim", argument),
          .found = rank,
          .expected = fmt::format("at most {}", kMaxRank)});
  return Shape(std::span<const std::int64_t>(dims, static_cast<std::size_t>(rank)));
}

View Borrowed::writable_view() const {
  return {const_cast<void*>(view.raw()), view.dtype(), view.shape(), view.strides()};
}

namespace {

// Uses DLPack's table, a view as integers, or __dlpack__.
Borrowed shared(nb::handle object, const char* argument, bool is_output, Hold hold) {
  if (const DlExchange* const exchange = exchange_of(argument, object); exchange != nullptr) {
    nb::object array = without_gradient(argument, object);
    array = is_output ? as_output(argument, array) : values_of(argument, array);
    const bool is_new = !array.is(object);  // no other reference exists
    return from_exchange(argument, array, *exchange, is_new ? Hold::kMemory : hold);
  }
  if (const std::optional<Borrowed> found = from_ml_dtypes(argument, object)) return *found;
  if (nb::hasattr(object, "__dlpack__"))
    return from_capsule(argument, without_gradient(argument, object));
  fail_type(argument, kind_of(object), kArray);
}

Borrowed borrowed(nb::handle object, const char* argument, bool is_output, Hold hold) {
  if (object.is_none()) return {};
  if (PyObject_CheckBuffer(object.ptr()) != 0) {
    check_masked(argument, object);
    if (const std::optional<Borrowed> found = from_buffer(argument, object)) return *found;
  }
  return shared(object, argument, is_output, hold);
}

}  // namespace

Borrowed borrow(nb::handle object, const char* argument, Hold hold) {
  return borrowed(object, argument, /*is_output=*/false, hold);
}

Borrowed borrow_output(nb::handle object, const char* argument) {
  Borrowed memory = borrowed(object, argument, /*is_output=*/true, Hold::kMemory);
  if (memory.given() && !memory.writable)
    fail({.argument = argument, .found = "read-only", .expected = "memory to write to"});
  return memory;
}

Borrowed borrow_own(nb::handle tensor) {
  if (const DlExchange* const exchange = exchange_of("out", tensor); exchange != nullptr)
    return from_exchange("out", tensor, *exchange, Hold::kCall);
  return borrow(tensor, "out");
}

std::vector<std::int64_t> integers(nb::handle object, const char* argument) {
  constexpr const char* kExpected = "a whole number, or a list or an array of them";
  return list_of<std::int64_t>(object, argument, kExpected,
                               [&](const ConstView& array, std::int64_t at) {
                                 if (array.dtype() == DType::kI64)
                                   return array.data<std::int64_t>()[at];
                                 if (array.dtype() == DType::kI32)
                                   return std::int64_t{array.data<std::int32_t>()[at]};
                                 fail_type(argument, name(array.dtype()), kExpected);
                               });
}

std::vector<double> numbers(nb::handle object, const char* argument) {
  constexpr const char* kExpected = "a number, or a list or an array of them";
  return list_of<double>(object, argument, kExpected, [&](const ConstView& array, std::int64_t at) {
    if (array.dtype() == DType::kF64) return array.data<double>()[at];
    if (array.dtype() == DType::kF32) return double{array.data<float>()[at]};
    fail_type(argument, name(array.dtype()), "float64 or float32");
  });
}

nb::object exported(Tensor tensor) {
  const std::vector<std::size_t> shape(tensor.shape().begin(), tensor.shape().end());
  void* const data = tensor.view().raw();
  const DlType type = dl_type(tensor.dtype());
  auto held = std::make_unique<Tensor>(std::move(tensor));
  const nb::capsule owner(held.get(),
                          [](void* self) noexcept { delete static_cast<Tensor*>(self); });
  static_cast<void>(held.release());
  return nb::cast(Exported(data, shape.size(), shape.data(), owner, nullptr,
                           nb::dlpack::dtype{static_cast<std::uint8_t>(type.code), type.bits, 1},
                           nb::device::cpu::value));
}

nb::tuple shape_tuple(const Shape& shape) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.rank())));
  Py_ssize_t at = 0;
  for (const std::int64_t extent : shape)
    PyTuple_SetItem(tuple.ptr(), at++, nb::int_(extent).release().ptr());
  return nb::borrow<nb::tuple>(tuple);
}

namespace {

// NumPy itself has no bfloat16: returns the same memory as integers, which ml_dtypes can view.
nb::object as_bits(const nb::ndarray<>& array, const nb::object& owner) {
  const std::vector<std::size_t> shape(array.shape_ptr(), array.shape_ptr() + array.ndim());
  return nb::cast(Exported(array.data(), shape.size(), shape.data(), owner, array.stride_ptr(),
                           nb::dtype<std::uint16_t>(), nb::device::cpu::value));
}

}  // namespace

void bind_arrays(nb::module_& module) {
  module.def("is_bfloat16", [](const nb::ndarray<>& array) {
    return array.dtype().code == static_cast<std::uint8_t>(DlCode::kBfloat);
  });
  module.def(
      "as_bits",
      [](const nb::object& array) { return as_bits(nb::cast<nb::ndarray<>>(array), array); },
      nb::arg("array"), "The memory of a bfloat16 array as uint16.");
}

}  // namespace heed::python
