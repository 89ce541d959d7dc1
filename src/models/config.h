// Reading the values of a `config.json`, with errors that name the file and the key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace heed {

class Config {
 public:
  /// `source` is what errors begin with: the file's path, or "config".
  static Config parse(std::string_view text, std::string source);

  const std::string& source() const { return source_; }
  /// At least 1.
  std::int64_t extent(const char* key, std::int64_t otherwise) const;
  /// -1 for null.
  std::int64_t id(const char* key, std::int64_t otherwise) const;
  double number(const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, std::string_view otherwise) const;

 private:
  bool has(const char* key) const;  // present and not null
  [[noreturn]] void refuse(const char* key, std::string_view expected) const;

  nlohmann::json json_;
  std::string source_;
};

}  // namespace heed
