#include "inspect/saved/base64.h"

#include <cstdint>

namespace heed {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) -> std::uint32_t {
      return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U;
    };
    const std::uint32_t three = byte(0) << 16U | byte(1) << 8U | byte(2);
    text += kDigits[three >> 18U];
    text += kDigits[three >> 12U & 63U];
    text += at + 1 < bytes.size() ? kDigits[three >> 6U & 63U] : '=';
    text += at + 2 < bytes.size() ? kDigits[three & 63U] : '=';
  }
  return text;
}

}  // namespace heed
