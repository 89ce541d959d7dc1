// How byte-level tokenizer files write bytes: each of the 256 as one visible character (GPT-2's
// `bytes_to_unicode`). A space is `Ġ`, a line feed `Ċ`.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace heed {

/// The UTF-8 of each byte's character.
const std::array<std::string, 256>& byte_characters();

/// Converts bytes to their characters.
std::string piece_of_bytes(std::string_view bytes);

/// Converts a piece to its bytes; a piece with any other character is returned unchanged, like in
/// the `tokenizers` library.
std::string bytes_of_piece(std::string_view piece);

}  // namespace heed
