#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/wording.h"
#include "errors.h"

namespace heed::python {
namespace {

std::optional<DType> integer_type(Py_ssize_t size) {
  if (size == 8) return DType::kI64;
  if (size == 4) return DType::kI32;
  if (size == 1) return DType::kI8;
  return {};
}

std::optional<DType> type_of(std::string_view format, Py_ssize_t size) {
  if (format == "d") return DType::kF64;
  if (format == "f") return DType::kF32;
  if (format == "e") return DType::kF16;
  if (format == "?") return DType::kBool;
  if (format == "B") return DType::kU8;
  if (format == "b" || format == "i" || format == "l" || format == "q") return integer_type(size);
  return {};
}

DType element_type(const char* argument, nb::handle object, const Py_buffer& buffer) {
  std::string_view format = buffer.format != nullptr ? buffer.format : "B";
  if (format.starts_with('>') || format.starts_with('!'))
    fail_type(argument, "in the byte order of another machine",
              "this machine's: x.astype(x.dtype.newbyteorder(\"=\"))");
  if (format.starts_with('<') || format.starts_with('=') || format.starts_with('@'))
    format.remove_prefix(1);
  const std::optional<DType> type = type_of(format, buffer.itemsize);
  if (!type)
    fail_type(argument,
              nb::hasattr(object, "dtype") ? "an array of " + text_of(object.attr("dtype"))
                                           : fmt::format("a buffer of \"{}\"", format),
              kElements);
  return *type;
}

Shape strides_of(const char* argument, const Py_buffer& buffer, const Shape& shape) {
  Shape strides = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1 && buffer.strides[axis] % buffer.itemsize != 0)
      fail({.argument = fmt::format("{}.strides[{}]", argument, axis),
            .found = number_of(buffer.strides[axis], "byte"),
            .expected = fmt::format("a multiple of {}, an element's size", buffer.itemsize)});
    strides[axis] = buffer.strides[axis] / buffer.itemsize;
  }
  return strides;
}

std::shared_ptr<Py_buffer> buffer_of(nb::handle object) {
  auto held = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), held.get(), PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  return {held.release(), [](Py_buffer* buffer) {
            PyBuffer_Release(buffer);
            delete buffer;
          }};
}

}  // namespace

std::optional<Borrowed> from_buffer(const char* argument, nb::handle object,
                                    std::optional<DType> type) {
  std::shared_ptr<Py_buffer> buffer = buffer_of(object);
  if (buffer == nullptr) return {};
  if (!type) type = element_type(argument, object, *buffer);
  const std::vector<std::int64_t> dims(buffer->shape, buffer->shape + buffer->ndim);
  const Shape shape = shape_of(argument, buffer->ndim, dims.data());
  Borrowed borrowed;
  borrowed.view = ConstView(buffer->buf, *type, shape, strides_of(argument, *buffer, shape));
  borrowed.writable = buffer->readonly == 0;
  borrowed.owner = std::move(buffer);
  return borrowed;
}

}  // namespace heed::python
