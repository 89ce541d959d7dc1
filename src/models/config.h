// Reading the values of a `config.json`, with errors that name the file, the place and the key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "heed/base/error.h"

namespace heed {

class Config {
 public:
  /// `source` is what errors begin with: the file's path, or "config".
  static Config parse(std::string_view text, std::string source);

  /// At least 1.
  std::int64_t extent(const char* key, std::int64_t otherwise) const;
  /// -1 for null.
  std::int64_t id(const char* key, std::int64_t otherwise) const;
  double number(const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, std::string_view otherwise) const;

  /// Fails: the value of `key`, which may be a default, is not what is expected.
  [[noreturn]] void refuse(const char* key, Phrase found, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const;

 private:
  const Json* find(const char* key) const;  // null where it is absent or null
  [[noreturn]] void refuse(const char* key, Phrase expected) const;

  JsonText json_;
};

}  // namespace heed
