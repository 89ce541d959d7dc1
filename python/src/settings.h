// Keyword arguments passed as a dict.
#pragma once

#include <nanobind/nanobind.h>

#include "arrays.h"
#include "errors.h"

namespace heed::python {

/// settings[name] as T; a TypeError that names it if it has another type.
template <typename T>
T setting(const nb::dict& settings, const char* name, const char* expected) {
  if (!settings.contains(name)) fail({.argument = name, .expected = expected});
  const nb::object given = settings[name];
  T value{};
  if (!nb::try_cast(given, value)) fail_type(name, text_of(given), expected);
  return value;
}

}  // namespace heed::python
