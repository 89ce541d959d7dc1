// The header of one GGUF file, checked wholly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "base/formats/json.h"
#include "io/gguf.h"

namespace heed {

struct GgufHeader {
  std::map<std::string, Json, std::less<>> metadata;
  std::map<std::string, GgufTensor, std::less<>> tensors;
};

/// `file` is the whole file; `path` is for messages.
GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::filesystem::path& path);

}  // namespace heed
