// The types that tensors of a GGUF file have: most hold rows in blocks of 32 or 256 numbers, a few
// bits each, with scales of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heed/dtype.h"

namespace heed {

struct GgufType {
  std::uint32_t id = 0;        // as the file writes it
  std::string_view name;       // "Q4_K", as llama.cpp prints it
  std::int64_t elements = 1;   // of a block, which lie side by side in a row
  std::int64_t bytes = 4;      // of a block
  std::optional<DType> plain;  // F32, F16, BF16 and F64: the elements themselves
  /// Reads one block. Scales and codes are multiplied in f32 in the order of the `gguf` package, so
  /// that both give the same bits. Null for plain types.
  void (*read)(const std::byte* block, float* out) = nullptr;
  /// Rounds one block as llama.cpp's reference does. Null for types that heed does not write.
  void (*write)(const float* numbers, std::byte* block) = nullptr;
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

/// Reads rows of blocks: `out.size()` numbers, a multiple of the type's `elements`, from `bytes`.
void read_gguf_numbers(const GgufType& type, std::span<const std::byte> bytes,
                       std::span<float> out);

}  // namespace heed
