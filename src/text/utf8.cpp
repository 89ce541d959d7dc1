#include "text/utf8.h"

#include <fmt/format.h>

#include <cstring>

#include "heed/error.h"
#include "heed/tokenizer.h"

namespace heed {

Character character_at(std::string_view text, std::size_t begin) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[begin + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || begin + length > text.size()) return {};
  char32_t code = first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[length] || code > 0x10FFFF || surrogate) return {};
  return {code, length};
}

std::string to_utf8(char32_t code) {
  std::string bytes;
  int shift = code < 0x80 ? 0 : code < 0x800 ? 6 : code < 0x10000 ? 12 : 18;
  constexpr unsigned char kLead[] = {0x00, 0xC0, 0xE0, 0xF0};
  bytes += static_cast<char>(kLead[shift / 6] | code >> shift);
  while (shift > 0) {
    shift -= 6;
    bytes += static_cast<char>(0x80 | (code >> shift & 0x3F));
  }
  return bytes;
}

namespace {

// Eight bytes at a time; does not check the end of `text`.
std::size_t skip_ascii(std::string_view text, std::size_t begin) {
  for (; begin + 8 <= text.size(); begin += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + begin, 8);
    if ((bytes & 0x8080808080808080U) != 0) break;
  }
  return begin;
}

}  // namespace

std::int64_t find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    i = skip_ascii(text, i);
    if (i == text.size()) break;
    const Character character = character_at(text, i);
    if (character.bytes == 0) return static_cast<std::int64_t>(i);
    i += character.bytes;
  }
  return -1;
}

void require_utf8(std::string_view text) {
  const std::int64_t invalid = find_invalid_utf8(text);
  if (invalid >= 0)
    fail({.op = "text",
          .argument = fmt::format("byte {}", invalid),
          .found =
              fmt::format("0x{:02X}, which is not valid UTF-8 there",
                          static_cast<unsigned char>(text[static_cast<std::size_t>(invalid)]))});
}

namespace {

// Controls, line and paragraph separators, and characters that change the writing direction (Trojan
// Source, Boucher & Anderson 2021): these would move the text after them.
bool moves_others(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string displayable(std::string_view bytes) {
  std::string result;
  for (std::size_t i = 0; i < bytes.size();) {
    const Character character = character_at(bytes, i);
    const std::size_t length = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes > 0 && !moves_others(character.code)) {
      result += bytes.substr(i, length);
    } else {
      for (const char byte : bytes.substr(i, length))
        result += fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte));
    }
    i += length;
  }
  return result;
}

namespace {

// How many bytes at `begin`, where there is no valid character, could have begun one: at least 1.
std::size_t broken_bytes(std::string_view text, std::size_t begin) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(begin);
  const std::size_t length = lead < 0xC2    ? 1
                             : lead <= 0xDF ? 2
                             : lead <= 0xEF ? 3
                             : lead <= 0xF4 ? 4
                                            : 1;
  // Overlong forms, surrogates and codes beyond U+10FFFF are invalid from their second byte.
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  std::size_t bytes = 1;
  while (bytes < length && begin + bytes < text.size()) {
    const unsigned char next = byte(begin + bytes);
    if (next < (bytes == 1 ? least : 0x80) || next > (bytes == 1 ? most : 0xBF)) break;
    ++bytes;
  }
  return bytes;
}

}  // namespace

std::string repaired_utf8(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = character_at(bytes, at).bytes;
    text += length > 0 ? bytes.substr(at, length) : "\xEF\xBF\xBD";
    at += length > 0 ? length : broken_bytes(bytes, at);
  }
  return text;
}

}  // namespace heed
