// How byte-level tokenizer files write bytes: each of the 256 as one visible character (GPT-2's
// `bytes_to_unicode`). A space is `Ġ`, a line feed `Ċ`.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace heed {

/// The UTF-8 of the character that stands for each byte.
const std::array<std::string, 256>& byte_characters();

/// Bytes as their characters.
std::string piece_of_bytes(std::string_view bytes);

/// The bytes that a piece stands for; a piece with any other character stands for itself, as in the
/// `tokenizers` library.
std::string bytes_of_piece(std::string_view piece);

}  // namespace heed
