// Converts errors from C++ to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "heed/error.h"

namespace heed::python {

/// An argument whose type is wrong, whatever its value: a TypeError.
class WrongType : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void fail_type(const char* argument, Phrase found, Phrase expected);

/// Converts heed::Error to the exceptions of heed.errors.
void bind_errors(nanobind::module_& module);

}  // namespace heed::python
