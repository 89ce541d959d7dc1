#include "errors.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "computing.h"
#include "heed/tensor.h"

namespace heed::python {
namespace {

namespace nb = nanobind;

const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kFailed:
      return "failed";
    case ErrorCode::kInterrupted:
      return "interrupted";
  }
  return "failed";
}

// For a wrong element type, operators set only `found`.
bool is_about_type(const Error& error) {
  if (dynamic_cast<const WrongType*>(&error) != nullptr) return true;
  return error.code() == ErrorCode::kInvalidArgument &&
         std::ranges::any_of(kDTypes,
                             [&](const DTypeInfo& row) { return row.name == error.found(); });
}

void raise(const Error& error) {
  const ErrorParts& parts = error.parts();
  nb::dict data;
  data["code"] = is_about_type(error) ? "wrong_type" : code_name(error.code());
  const auto set = [&](const char* name, const Phrase& part) {
    data[name] = nb::str(part.text().data(), part.text().size());
  };
  set("op", parts.op);
  set("file", parts.file);
  set("argument", parts.argument);
  set("found", parts.found);
  set("expected", parts.expected);
  set("hint", parts.hint);
  const std::string text = to_string(parts);
  const nb::object made = nb::module_::import_("heed.errors").attr("from_parts")(text, data);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

// Making the error runs Python code, where another thread may take the GIL and end the interpreter,
// which would terminate this thread inside C++. So it counts as a computation, for which the
// interpreter waits. If the interpreter ends, the thread exits instead of raising the error.
void translate(const Error& error) {
  std::optional<Computation> counted;
  try {
    counted.emplace();
  } catch (nb::python_error& ending) {
    ending.restore();
    return;
  }
  raise(error);
}

}  // namespace

void fail_type(const char* argument, Phrase found, Phrase expected) {
  throw WrongType(
      ErrorParts{.argument = argument, .found = std::move(found), .expected = std::move(expected)});
}

void bind_errors(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      translate(error);
    }
  });
}

}  // namespace heed::python
