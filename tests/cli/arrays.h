// Arrays as files, for the tests of commands that read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/program.h"
#include "heed/io/npy.h"

namespace heed::test {

/// Writes the array into the scratch folder; returns its path.
inline std::string written(const std::string& name, const ConstView& array) {
  write_npy(in_scratch(name), array);
  return in_scratch(name);
}

inline std::string list_of(const std::string& name, std::vector<std::int64_t> values) {
  return written(name, ConstView(values.data(), DType::kI64, {std::ssize(values)}));
}

}  // namespace heed::test
