// Writes protocol buffers' wire format, for tests that read it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace heed::test {

class ProtobufWriter {
 public:
  ProtobufWriter& varint(int field, std::uint64_t value) {
    tag(field, 0);
    return raw_varint(value);
  }
  ProtobufWriter& bytes(int field, std::string_view content) {
    tag(field, 2);
    raw_varint(content.size());
    text_ += content;
    return *this;
  }
  ProtobufWriter& message(int field, const ProtobufWriter& inner) {
    return bytes(field, inner.text_);
  }
  ProtobufWriter& number(int field, float value) {
    tag(field, 5);
    return raw(value);
  }
  ProtobufWriter& number(int field, double value) {
    tag(field, 1);
    return raw(value);
  }
  /// Without a tag: elements of a packed list.
  ProtobufWriter& raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
    return *this;
  }
  template <typename T>
  ProtobufWriter& raw(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void tag(int field, int wire) {
    raw_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
  }
  std::string text_;
};

}  // namespace heed::test
