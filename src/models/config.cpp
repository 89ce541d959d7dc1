#include "models/config.h"

#include <utility>

namespace heed {

Config Config::parse(std::string_view text, std::string source) {
  Config config;
  config.json_ = JsonText::parse(std::string(text), {.file = std::move(source)});
  if (!config.json_.root().is_object())
    config.json_.refuse(config.json_.root(), "the whole", "a JSON object with 'model_type'");
  return config;
}

void Config::refuse(const char* key, Phrase found, Phrase expected, ErrorCode code) const {
  fail({.code = code,
        .file = json_.file(),
        .place = json_.place(json_.root()[key]),
        .argument = key,
        .found = std::move(found),
        .expected = std::move(expected)});
}

void Config::refuse(const char* key, Phrase expected) const {
  json_.refuse(json_.root()[key], key, std::move(expected));
}

const Json* Config::find(const char* key) const {
  const Json& value = json_.root()[key];
  return value.is_null() ? nullptr : &value;
}

std::int64_t Config::extent(const char* key, std::int64_t otherwise) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  const std::optional<std::int64_t> number = value->as_integer();
  if (!number || *number < 1 || *number > kMost) refuse(key, "a whole number of at least 1");
  return *number;
}

std::int64_t Config::id(const char* key, std::int64_t otherwise) const {
  const Json& value = json_.root()[key];
  if (value.is_null()) return json_.root().has(key) ? -1 : otherwise;
  const std::optional<std::int64_t> number = value.as_integer();
  if (!number || *number < 0) refuse(key, "a token id or null");
  return *number;
}

double Config::number(const char* key, double otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  const std::optional<double> number = value->as_number();
  if (!number) refuse(key, "a number");
  return *number;
}

bool Config::flag(const char* key, bool otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  const std::optional<bool> flag = value->as_flag();
  if (!flag) refuse(key, "true or false");
  return *flag;
}

std::string Config::text(const char* key, std::string_view otherwise) const {
  const Json* value = find(key);
  if (value != nullptr && !value->is_text()) refuse(key, "a text");
  return value == nullptr ? std::string(otherwise) : *value->as_text();
}

}  // namespace heed
