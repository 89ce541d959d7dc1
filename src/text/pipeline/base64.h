// Base64 (RFC 4648), used for bytes in tokenizer files and saved pages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heed {

/// Empty if the text is not base64.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace heed
