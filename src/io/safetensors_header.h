// The JSON header of a safetensors file, checked completely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "heed/tensor.h"

namespace heed {

struct StoredTensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::int64_t begin = 0;  // offset in the file, not in its data part
  std::int64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// `file` is the whole file; `path` is for messages.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file,
                                           const std::filesystem::path& path);

}  // namespace heed
