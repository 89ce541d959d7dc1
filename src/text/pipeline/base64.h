// Base64 (RFC 4648), as tokenizer files and saved pages hold bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heed {

/// None where the text is not base64.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace heed
