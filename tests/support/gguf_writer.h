// GGUF files as bytes, for tests: right ones, and wrong ones by exact place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed::test {

class GgufWriter {
 public:
  std::uint32_t version = 3;
  std::uint64_t more_tensors = 0, more_keys = 0;  // claimed beside those that are there

  template <typename T>
  static std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string text(std::string_view value) {
    return bytes_of<std::uint64_t>(value.size()) + std::string(value);
  }

  GgufWriter& key(std::string_view name, std::uint32_t type, const std::string& value) {
    keys_.push_back(text(name) + bytes_of(type) + value);
    return *this;
  }
  GgufWriter& key(std::string_view name, std::uint32_t value) {
    return key(name, 4, bytes_of(value));
  }
  GgufWriter& key(std::string_view name, float value) { return key(name, 6, bytes_of(value)); }
  GgufWriter& key(std::string_view name, bool value) {
    return key(name, 7, std::string(1, value ? '\1' : '\0'));
  }
  GgufWriter& key(std::string_view name, const char* value) { return key(name, 8, text(value)); }
  GgufWriter& key(std::string_view name, const std::vector<std::string>& values) {
    std::string list = bytes_of<std::uint32_t>(8) + bytes_of<std::uint64_t>(values.size());
    for (const std::string& value : values) list += text(value);
    return key(name, 9, list);
  }
  template <typename T>
  GgufWriter& numbers(std::string_view name, std::uint32_t type, const std::vector<T>& values) {
    std::string list = bytes_of(type) + bytes_of<std::uint64_t>(values.size());
    for (const T value : values) list += bytes_of(value);
    return key(name, 9, list);
  }

  /// `shape` as heed writes it, the innermost extent last.
  GgufWriter& tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t type,
                     const std::string& data) {
    while (data_.size() % kAlignment != 0) data_ += '\0';
    return tensor_at(name, std::move(shape), type, data_.size(), data);
  }
  GgufWriter& tensor(std::string_view name, std::vector<std::uint64_t> shape,
                     std::span<const float> values) {
    return tensor(name, std::move(shape), 0,
                  {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  GgufWriter& tensor_at(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t type,
                        std::uint64_t offset, const std::string& data = {}) {
    std::string entry = text(name) + bytes_of(static_cast<std::uint32_t>(shape.size()));
    for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) entry += bytes_of(*extent);
    tensors_.push_back(entry + bytes_of(type) + bytes_of(offset));
    data_ += data;
    return *this;
  }

  std::string file() const {
    std::string file = "GGUF" + bytes_of(version) + bytes_of(tensors_.size() + more_tensors) +
                       bytes_of(keys_.size() + more_keys);
    for (const std::string& key : keys_) file += key;
    for (const std::string& tensor : tensors_) file += tensor;
    while (file.size() % kAlignment != 0) file += '\0';
    return file + data_;
  }

 private:
  static constexpr std::size_t kAlignment = 32;
  std::vector<std::string> keys_, tensors_;
  std::string data_;
};

}  // namespace heed::test
