// Numbers and strings as JSON writes them: floats keep their own shortest digits.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace heed::server {

/// Quoted and escaped; bytes that are no UTF-8 as <0xE3>.
std::string json_string(std::string_view bytes);

/// `"text":"..."`, and `,"bytes":"e381"` where the text cannot hold the bytes.
std::string json_token_text(std::string_view bytes);

/// Appends the shortest text that reads back as the same number; null for what JSON does not have.
template <typename Number>
void append_number(std::string& json, Number value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(json), "{}", value);
  } else {
    json += "null";
  }
}

template <typename Number>
std::string json_number(Number value) {
  std::string json;
  append_number(json, value);
  return json;
}

/// `[1,0.5,null]`
template <typename Range>
std::string json_numbers(const Range& values) {
  std::string json = "[";
  for (const auto value : values) {
    if (json.size() > 1) json += ',';
    append_number(json, value);
  }
  return json + "]";
}

/// `[a,b]` of what `write` makes of each item.
template <typename Range, typename Write>
std::string json_list(const Range& items, Write write) {
  std::string json = "[";
  for (const auto& item : items) {
    if (json.size() > 1) json += ',';
    json += write(item);
  }
  return json + "]";
}

}  // namespace heed::server
