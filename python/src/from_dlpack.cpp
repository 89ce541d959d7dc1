#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "arrays.h"
#include "computing.h"
#include "dlpack.h"
#include "errors.h"

namespace heed::python {
namespace {

std::optional<DType> integer_type(int bits) {
  if (bits == 64) return DType::kI64;
  if (bits == 32) return DType::kI32;
  if (bits == 8) return DType::kI8;
  return {};
}

std::optional<DType> element_type(const DlTensor& tensor) {
  if (tensor.lanes != 1) return {};
  const auto is = [&](DlCode code, int bits) {
    return tensor.code == static_cast<std::uint8_t>(code) && tensor.bits == bits;
  };
  if (is(DlCode::kFloat, 64)) return DType::kF64;
  if (is(DlCode::kFloat, 32)) return DType::kF32;
  if (is(DlCode::kFloat, 16)) return DType::kF16;
  if (is(DlCode::kBfloat, 16)) return DType::kBF16;
  if (is(DlCode::kBool, 8)) return DType::kBool;
  if (is(DlCode::kUnsigned, 8)) return DType::kU8;
  if (tensor.code == static_cast<std::uint8_t>(DlCode::kInt)) return integer_type(tensor.bits);
  return {};
}

[[noreturn]] void fail_device(const char* argument, const std::string& device) {
  fail(
      {.argument = argument, .found = "on " + device, .expected = "an array in the host's memory"});
}

void check_device(const char* argument, nb::handle object, std::int32_t type) {
  if (type == kDlCpu || std::ranges::find(kDlPinned, type) != std::ranges::end(kDlPinned)) return;
  fail_device(argument, nb::hasattr(object, "device") ? text_of(object.attr("device"))
                                                      : fmt::format("DLPack's device {}", type));
}

[[noreturn]] void fail_element(const char* argument, nb::handle object, const DlTensor& tensor) {
  const std::string name = nb::hasattr(object, "dtype")
                               ? text_of(object.attr("dtype"))
                               : fmt::format("{} bits, DLPack's code {}", tensor.bits, tensor.code);
  fail_type(argument, "an array of " + name, kElements);
}

[[noreturn]] void fail_memory(const char* argument, nb::handle object) {
  fail({.argument = argument,
        .found = fmt::format("{} without memory", kind_of(object)),
        .expected = "an array with values"});
}

Borrowed seen_through(const char* argument, nb::handle object, const DlTensor& tensor) {
  check_device(argument, object, tensor.device_type);
  const std::optional<DType> type = element_type(tensor);
  if (!type) fail_element(argument, object, tensor);
  const Shape shape = shape_of(argument, tensor.rank, tensor.shape);
  const Shape strides = tensor.strides != nullptr ? shape_of(argument, tensor.rank, tensor.strides)
                                                  : contiguous_strides(shape);
  const auto* data = static_cast<const std::byte*>(tensor.data);
  if (data == nullptr && shape.element_count() > 0) fail_memory(argument, object);
  if (data != nullptr) data += tensor.byte_offset;
  return {.view = ConstView(data, *type, shape, strides), .writable = true, .owner = {}};
}

// Returns memory borrowed from a library.
template <typename Managed>
std::shared_ptr<Managed> owned(Managed* managed) {
  return {managed, [](Managed* self) {
            if (self->deleter != nullptr) self->deleter(self);
          }};
}

Borrowed from_managed(const char* argument, nb::handle object, DlManagedVersioned* managed) {
  const std::shared_ptr<DlManagedVersioned> owner = owned(managed);
  if (managed->major != 1)
    fail({.argument = argument,
          .found = fmt::format("an array of DLPack {}.{}", managed->major, managed->minor),
          .expected = "DLPack 1"});
  Borrowed borrowed = seen_through(argument, object, managed->tensor);
  borrowed.writable = (managed->flags & kDlReadOnly) == 0;
  borrowed.owner = owner;
  return borrowed;
}

// Wraps an exception of the library in an error that names the argument.
[[noreturn]] void fail_sharing(const char* argument, nb::handle object,
                               const nb::python_error& error) {
  if (nb::hasattr(object, "device")) {
    const std::string device = text_of(object.attr("device"));
    if (!device.starts_with("cpu")) fail_device(argument, device);
  }
  const std::string text = text_of(error.value());
  fail({.argument = argument,
        .found = fmt::format("{} that does not share its memory", kind_of(object)),
        .expected = {},
        .hint = text.substr(0, text.find('\n'))});
}

std::int32_t device_of(const char* argument, nb::handle object) {
  try {
    const nb::object device = object.attr("__dlpack_device__")();
    return nb::cast<std::int32_t>(nb::int_(device[0]));
  } catch (const nb::python_error& error) {
    fail_sharing(argument, object, error);
  }
}

nb::object capsule_of(const char* argument, nb::handle object) {
  try {
    return object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) fail_sharing(argument, object, error);
  }
  try {
    return object.attr("__dlpack__")();  // for libraries older than DLPack 1
  } catch (const nb::python_error& error) {
    fail_sharing(argument, object, error);
  }
}

// Marks the capsule as consumed by renaming it, as DLPack requires.
template <typename Managed>
Managed* taken(const nb::object& capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (managed == nullptr) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), used);
  return managed;
}

}  // namespace

Borrowed from_capsule(const char* argument, nb::handle object) {
  const Computation
      counted;  // a __dlpack__ written in Python may lose the GIL while the interpreter ends
  check_device(argument, object, device_of(argument, object));
  const nb::object capsule = capsule_of(argument, object);
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0)
    return from_managed(
        argument, object,
        taken<DlManagedVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned"));
  const std::shared_ptr<DlManaged> owner =
      owned(taken<DlManaged>(capsule, "dltensor", "used_dltensor"));
  Borrowed borrowed = seen_through(argument, object, owner->tensor);
  borrowed.owner = owner;
  return borrowed;
}

const DlExchange* exchange_of(const char* argument, nb::handle object) {
  // The last type with a table, and the table: a look-up costs as much as everything else.
  static PyObject* known_type = nullptr;
  static const DlExchange* known = nullptr;
  const nb::handle type = object.type();
  if (type.ptr() == known_type) return known;
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (capsule.is_none()) return nullptr;
  const auto* exchange =
      static_cast<const DlExchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (exchange == nullptr) throw nb::python_error();
  if (exchange->major != 1) return nullptr;
  check_tensor_type(argument, type);
  Py_XDECREF(known_type);
  known_type = nb::borrow(type).release().ptr();
  known = exchange;
  return known;
}

Borrowed from_exchange(const char* argument, nb::handle object, const DlExchange& exchange,
                       Hold hold) {
  if (hold == Hold::kCall && exchange.tensor_of != nullptr) {
    DlTensor tensor;
    if (exchange.tensor_of(object.ptr(), &tensor) != 0)
      fail_sharing(argument, object, nb::python_error());
    if (tensor.data != nullptr) return seen_through(argument, object, tensor);
  }
  DlManagedVersioned* managed = nullptr;
  if (exchange.from_object(object.ptr(), &managed) != 0)
    fail_sharing(argument, object, nb::python_error());
  if (managed->tensor.data == nullptr && is_lazy_zero(object)) {
    owned(managed).reset();
    return from_exchange(argument, object.attr("clone")(), exchange, Hold::kMemory);
  }
  return from_managed(argument, object, managed);
}

}  // namespace heed::python
