// Turns tokens' pieces back into text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_file.h"

namespace heed {

struct Decoder {
  /// Changes the pieces of a text in place; joined, they are the text. Tokens of single bytes
  /// remain bytes, valid UTF-8 or not.
  std::function<void(std::vector<std::string>& pieces)> apply = {};
  /// The maximal factor by which a piece grows, apart from an additional space.
  double growth = 1;
};

/// Reads the component `decoder` of a file; without one, spaces separate the pieces.
Decoder read_decoder(const TokenizerFile& file, const Json& component);

/// `text` with every occurrence of the nonempty `from` replaced.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// The byte of a piece such as <0x0A>; -1 for others.
int byte_of_piece(std::string_view piece);

}  // namespace heed
