// Errors, from C++ to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "heed/error.h"

namespace heed::python {

/// An argument of a type that no value would mend: a TypeError.
class WrongType : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void fail_type(const char* argument, Phrase found, Phrase expected);

/// Makes heed.errors' exceptions of heed::Error, from its parts.
void bind_errors(nanobind::module_& module);

}  // namespace heed::python
