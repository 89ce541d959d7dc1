// Quantised weights in blocks, as in GGUF files: 32 or 256 numbers of a row share scales, and each
// has a code of a few bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "heed/tensor.h"

namespace heed {

/// An unpacked block. With g = i / group, number i is
///   d * scales[g] * value(codes[i]) - d_least * least[g],
/// each product exact in f32, so the difference is the only rounding.
struct BlockParts {
  static constexpr int kMost = 256;
  std::uint16_t d = 0, d_least = 0;         // the bits of an f16 or bf16
  std::array<std::int8_t, 16> scales = {};  // 1 if the type has none
  std::array<std::uint8_t, 16> least = {};  // 1 if the type has none
  std::array<std::uint8_t, kMost> codes = {};
};

/// A type of block, defined by ggml.
struct BlockType {
  std::string_view name;                // "Q4_K", as llama.cpp prints it
  std::int64_t elements = 32;           // per block
  std::int64_t bytes = 18;              // per block
  int code_bits = 4;                    // 2 to 6, or 8: an i8
  int group = 32;                       // numbers that share a scale: 16 or 32
  bool has_scales = false;              // integers, per group
  bool has_least = false;               // a minimum is subtracted
  bool has_least_scales = false;        // integer factors of the minimum, per group
  int centre = 0;                       // value(code) is code - centre,
  const std::int8_t* values = nullptr;  // or values[code]
  DType factor = DType::kF16;           // type of d and d_least
  void (*split)(const std::uint8_t* block, BlockParts& parts) = nullptr;
  /// Quantises a block like llama.cpp's reference. Null for types that heed does not write.
  void (*write)(const float* numbers, std::uint8_t* block) = nullptr;

  int value(std::uint8_t code) const {
    if (values != nullptr) return values[code];
    return code_bits == 8 ? static_cast<std::int8_t>(code) : code - centre;
  }
  /// Bytes for this many numbers, a multiple of `elements`.
  std::int64_t bytes_of(std::int64_t numbers) const { return numbers / elements * bytes; }
  /// An f16 or a bf16, whichever `factor` says.
  float factor_of(std::uint16_t bits) const;
};

/// The types that heed reads.
std::span<const BlockType> block_types();
/// Null for an unknown name.
const BlockType* block_type_named(std::string_view name);

/// Converts rows of blocks to f32: `out.size()` numbers, a multiple of the type's `elements`. The
/// bits equal those of the PyPI package `gguf`.
void read_blocks(const BlockType& type, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace heed
