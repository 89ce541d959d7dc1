#include <fmt/format.h>

#include <iterator>

#include "heed/text/tokenizer.h"
#include "inspect/answers/fields.h"

namespace heed {
namespace {

void append_escaped(std::string& json, char letter) {
  constexpr std::string_view kPlain = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  const std::size_t at = kPlain.find(letter);
  if (at != std::string_view::npos) {
    json += {'\\', kLetters[at]};
  } else if (static_cast<unsigned char>(letter) < 0x20) {
    fmt::format_to(std::back_inserter(json), "\\u{:04x}", static_cast<unsigned char>(letter));
  } else {
    json += letter;
  }
}

}  // namespace

std::string json_string(std::string_view bytes) {
  if (find_invalid_utf8(bytes) >= 0) return json_string(displayable(bytes));
  std::string json = "\"";
  for (const char letter : bytes) append_escaped(json, letter);
  return json + "\"";
}

std::string token_text(std::string_view bytes) {
  return find_invalid_utf8(bytes) < 0 ? std::string(bytes) : displayable(bytes);
}

std::optional<std::string> token_hex(std::string_view bytes) {
  if (find_invalid_utf8(bytes) < 0) return {};
  std::string hex;
  for (const char byte : bytes)
    fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

}  // namespace heed
