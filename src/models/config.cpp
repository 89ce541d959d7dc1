#include "models/config.h"

#include <utility>

#include "heed/base/error.h"

namespace heed {

Config Config::parse(std::string_view text, std::string source) {
  Config config;
  config.source_ = std::move(source);
  config.json_ = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.json_.is_object())
    fail(ErrorCode::kCorrupt, "{}: is not a JSON object, expected one with 'model_type'",
         config.source_);
  return config;
}

void Config::refuse(const char* key, std::string_view expected) const {
  fail(ErrorCode::kCorrupt, "{}: '{}' is {}, expected {}", source_, key, json_[key].dump(),
       expected);
}

bool Config::has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

std::int64_t Config::extent(const char* key, std::int64_t otherwise) const {
  if (!has(key)) return otherwise;
  const auto& value = json_[key];
  if (!value.is_number_integer() || value < 1 || value > (std::int64_t{1} << 30))
    refuse(key, "an integer of at least 1");
  return value;
}

std::int64_t Config::id(const char* key, std::int64_t otherwise) const {
  if (!json_.contains(key)) return otherwise;
  const auto& value = json_[key];
  if (value.is_null()) return -1;
  if (!value.is_number_integer() || value < 0) refuse(key, "a token id or null");
  return value;
}

double Config::number(const char* key, double otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_[key].is_number()) refuse(key, "a number");
  return json_[key];
}

bool Config::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_[key].is_boolean()) refuse(key, "true or false");
  return json_[key];
}

std::string Config::text(const char* key, std::string_view otherwise) const {
  if (!has(key)) return std::string(otherwise);
  if (!json_[key].is_string()) refuse(key, "a text");
  return json_[key];
}

}  // namespace heed
