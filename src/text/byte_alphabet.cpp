#include "text/byte_alphabet.h"

#include "text/utf8.h"

namespace heed {
namespace {

constexpr std::size_t kCodes = 256 + 68;  // 68 bytes are invisible and move beyond U+00FF

constexpr bool is_visible(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> make_codes() {
  std::array<char32_t, 256> codes = {};
  char32_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) codes[byte] = is_visible(byte) ? byte : next++;
  return codes;
}
constexpr std::array<char32_t, 256> kCodeOfByte = make_codes();

constexpr std::array<int, kCodes> make_bytes() {
  std::array<int, kCodes> bytes = {};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[kCodeOfByte[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}
constexpr std::array<int, kCodes> kByteOfCode = make_bytes();

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  static const auto characters = [] {
    std::array<std::string, 256> made;
    for (std::size_t byte = 0; byte < 256; ++byte) made[byte] = to_utf8(kCodeOfByte[byte]);
    return made;
  }();
  return characters;
}

std::string piece_of_bytes(std::string_view bytes) {
  std::string piece;
  for (const char byte : bytes) piece += byte_characters()[static_cast<unsigned char>(byte)];
  return piece;
}

std::string bytes_of_piece(std::string_view piece) {
  std::string bytes;
  for (std::size_t i = 0; i < piece.size();) {
    const Character character = character_at(piece, i);
    const int byte =
        character.bytes > 0 && character.code < kCodes ? kByteOfCode[character.code] : -1;
    if (byte < 0) return std::string(piece);
    bytes += static_cast<char>(byte);
    i += character.bytes;
  }
  return bytes;
}

}  // namespace heed
