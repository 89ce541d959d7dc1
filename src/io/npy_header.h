// The header of a .npy file: magic, version, length, and a Python dictionary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "heed/tensor.h"

namespace heed {

struct NpyHeader {
  DType dtype = DType::kF32;
  bool fortran_order = false;
  Shape shape;
};

/// The dictionary's text, `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, at byte
/// `offset` of `path` (both for messages only).
NpyHeader parse_npy_dictionary(std::string_view text, std::int64_t offset,
                               const std::filesystem::path& path);

/// Magic, version 1.0, length and dictionary; a multiple of 64 bytes.
std::string format_npy_header(const NpyHeader& header);

}  // namespace heed
