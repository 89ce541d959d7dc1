// The types of tensors in GGUF files, by their numbers there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heed/tensor.h"
#include "tensor/block_type.h"

namespace heed {

struct GgufType {
  std::uint32_t id = 0;               // the number in the file
  std::string_view name;              // "Q4_K", as llama.cpp prints it
  std::int64_t elements = 1;          // per block; the blocks of a row are adjacent
  std::int64_t bytes = 4;             // per block
  std::optional<DType> plain;         // F32, F16, BF16 and F64: unquantised
  const BlockType* blocks = nullptr;  // quantised types
};

/// Null for a type that heed does not read.
const GgufType* gguf_type(std::uint32_t id);
/// The type with that name; null if there is none.
const GgufType* gguf_type_named(std::string_view name);
/// The name of a type, even of one that heed does not read: "IQ2_XS", or "type 77" for an unknown
/// number.
std::string gguf_type_name(std::uint32_t id);
/// "F32, F16, ...": the types that heed reads.
std::string gguf_type_names();

}  // namespace heed
