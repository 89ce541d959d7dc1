// GGUF, the format of llama.cpp (versions 2 and 3, little-endian): metadata by key, then tensors of
// many types, in one file or split over several. Read through memory maps: opening reads only the
// headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/formats/json.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "tensor/block_type.h"

namespace heed {

/// The type of tensors in GGUF files.
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

struct GgufTensor {
  const GgufType* type = nullptr;
  Shape shape;            // row-major: GGUF writes the innermost extent first
  std::size_t part = 0;   // in a split file
  std::size_t begin = 0;  // in bytes of that part
  std::size_t end = 0;
};

/// A file, or all files of a split one, given its first (`name-00001-of-00003.gguf`). The headers
/// are checked completely: counts and lengths against the file's size, types, places inside the
/// file, no overlap. Errors are kCorrupt or kUnsupported and name the file, the byte and the key or
/// tensor.
class Gguf {
 public:
  static Gguf open(const std::filesystem::path& path);

  /// The first file.
  const std::filesystem::path& path() const { return parts_.front().path; }
  /// Null if the file does not have the key.
  const Json& operator[](std::string_view key) const;
  const std::map<std::string, GgufTensor, std::less<>>& tensors() const { return tensors_; }
  /// Null if the file does not hold the tensor.
  const GgufTensor* find(std::string_view name) const;
  std::span<const std::byte> bytes(const GgufTensor& tensor) const;
  /// Lets the system drop the tensor's pages from memory.
  void release(const GgufTensor& tensor) const {
    parts_[tensor.part].map->release(tensor.begin, tensor.end);
  }
  const std::filesystem::path& file(const GgufTensor& tensor) const {
    return parts_[tensor.part].path;
  }
  /// Keeps the tensor's file mapped.
  std::shared_ptr<const void> owner(const GgufTensor& tensor) const {
    return parts_[tensor.part].map;
  }

  /// Throws: the value of `key` is not what is expected.
  [[noreturn]] void refuse(std::string_view key, Phrase found, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const;

 private:
  struct Part {
    std::filesystem::path path;
    std::shared_ptr<const MappedFile> map;
  };

  void add_part(const std::filesystem::path& path);

  std::vector<Part> parts_;
  std::map<std::string, Json, std::less<>> metadata_;  // of the first part
  std::map<std::string, GgufTensor, std::less<>> tensors_;
};

/// Whether the file begins like a GGUF file.
bool is_gguf(const std::filesystem::path& path);

struct GgufOut {
  std::string name;
  ConstView view;                  // f32
  const GgufType* type = nullptr;  // whose blocks evenly divide the rows
};

/// Writes atomically. `metadata` is an object: whole numbers become u32, other numbers f32, lists
/// of whole numbers lists of i32, other lists of numbers lists of f32; flags and texts are kept.
void write_gguf(const std::filesystem::path& path, const Json& metadata,
                std::span<const GgufOut> tensors);

}  // namespace heed
