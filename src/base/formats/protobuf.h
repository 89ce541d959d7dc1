// Protocol buffers' wire format, field by field: enough to read files with a few known messages.
// Every length is checked before use; unknown fields are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heed/error.h"

namespace heed {

/// The bytes that messages are read from, and their name in errors.
struct ProtobufSource {
  std::span<const std::byte> bytes;
  std::string path;

  /// kCorrupt: `PATH: byte N: WHAT`.
  [[noreturn]] void fail_at(const std::byte* place, std::string_view what) const;
};

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field of a message. The accessors check the wire type.
struct ProtobufField {
  std::uint32_t number = 0;
  WireType wire = WireType::kVarint;
  std::uint64_t value = 0;                // for every type except kBytes
  std::span<const std::byte> bytes = {};  // for kBytes
  const std::byte* place = nullptr;       // where the field begins

  std::int64_t as_int(const ProtobufSource& source) const;
  float as_float(const ProtobufSource& source) const;
  std::span<const std::byte> as_bytes(const ProtobufSource& source) const;
  std::string as_text(const ProtobufSource& source) const;
};

/// Reads the fields of one message in order.
class ProtobufReader {
 public:
  ProtobufReader(std::span<const std::byte> message, const ProtobufSource& source)
      : rest_(message), source_(source) {}

  /// False at the end of the message.
  bool next(ProtobufField& field);
  std::uint64_t varint();
  bool at_end() const { return rest_.empty(); }

 private:
  std::uint64_t fixed(std::size_t bytes);
  std::span<const std::byte> take(std::uint64_t bytes);

  std::span<const std::byte> rest_;
  const ProtobufSource& source_;
};

/// Calls `use(value)` for each element of a repeated integer, whether packed or not.
template <typename Use>
void for_each_varint(const ProtobufField& field, const ProtobufSource& source, const Use& use) {
  if (field.wire != WireType::kBytes) return use(field.as_int(source));
  ProtobufReader packed(field.bytes, source);
  while (!packed.at_end()) use(static_cast<std::int64_t>(packed.varint()));
}

}  // namespace heed
