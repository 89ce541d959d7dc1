// NumPy's .npy files, versions 1.0 to 3.0: little-endian, C or Fortran order.
#pragma once

#include <filesystem>

#include "heed/tensor.h"

namespace heed {

/// Reads an array of f64, f32, f16, i64, i32, i8, u8 or bool. Fortran order is brought into C
/// order. Errors (kCorrupt, kNotFound, kIo) name the file, the byte offset where it helps, and what
/// was expected.
Tensor read_npy(const std::filesystem::path& path);

/// Writes row-major, whatever the view's strides; bf16, which NumPy does not have, is written as
/// f32. The file appears whole or not at all (io/atomic_file.h).
void write_npy(const std::filesystem::path& path, const ConstView& array);

}  // namespace heed
