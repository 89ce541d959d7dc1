// The header of one GGUF file, checked completely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "base/formats/json.h"
#include "io/gguf.h"

namespace heed {

/// The types of metadata, with their numbers in the file.
enum class GgufValue : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kFlag,
  kText,
  kList,
  kU64,
  kI64,
  kF64
};

/// Alignment of tensors in bytes, unless the file says otherwise.
inline constexpr std::uint64_t kGgufAlignment = 32;

struct GgufHeader {
  std::map<std::string, Json, std::less<>> metadata;
  std::map<std::string, GgufTensor, std::less<>> tensors;
};

/// `file` is the whole file; `path` is for messages.
GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::filesystem::path& path);

}  // namespace heed
