#include "base/clipped.h"

namespace heed {

std::string clipped(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto inside = [&](std::size_t at) {  // of a character
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  while (most > 0 && inside(most)) --most;
  return std::string(text.substr(0, most)) + "...";
}

}  // namespace heed
