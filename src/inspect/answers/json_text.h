// Strings and tokens as JSON has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heed {

/// Quoted and escaped; bytes that are not UTF-8 as <0xE3>.
std::string json_string(std::string_view bytes);

/// A token's text in valid UTF-8, and its bytes in hex where the text cannot hold them.
std::string token_text(std::string_view bytes);
std::optional<std::string> token_hex(std::string_view bytes);

}  // namespace heed
