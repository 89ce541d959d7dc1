// From the pieces of tokens back to text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_file.h"

namespace heed {

class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Changes the pieces of a text in place; joined, they are the text. What tokens of single bytes
  /// make up stays bytes, valid UTF-8 or not.
  virtual void apply(std::vector<std::string>& pieces) const = 0;
  /// How many times longer it makes a piece at most, apart from a blank beside it.
  virtual double growth() const { return 1; }
};

/// The component `decoder` of a file; where there is none, blanks part the pieces.
std::unique_ptr<Decoder> read_decoder(const TokenizerFile& file, const Json& component);

/// `text` with every `from`, which is not empty, replaced.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// The byte that a piece such as <0x0A> stands for, -1 for others.
int byte_of_piece(std::string_view piece);

}  // namespace heed
