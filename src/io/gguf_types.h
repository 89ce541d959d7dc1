// The types that tensors of a GGUF file have, by the numbers that files write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heed/dtype.h"
#include "tensor/block_type.h"

namespace heed {

struct GgufType {
  std::uint32_t id = 0;               // as the file writes it
  std::string_view name;              // "Q4_K", as llama.cpp prints it
  std::int64_t elements = 1;          // of a block, which lie side by side in a row
  std::int64_t bytes = 4;             // of a block
  std::optional<DType> plain;         // F32, F16, BF16 and F64: the elements themselves
  const BlockType* blocks = nullptr;  // the others
};

/// Null for a type that heed does not read.
const GgufType* gguf_type(std::uint32_t id);
/// The type of that name, null where there is none.
const GgufType* gguf_type_named(std::string_view name);
/// The name of a type, also of one that heed does not read: "IQ2_XS", or "type 77" for an unknown
/// number.
std::string gguf_type_name(std::uint32_t id);
/// "F32, F16, ...": the types that are read.
std::string gguf_type_names();

}  // namespace heed
