// Finds added tokens in a text.
#pragma once

#include <array>
#include <vector>

#include "text/added_token.h"
#include "text/pipeline/piece.h"

namespace heed {

/// A part of a text: an added token, or (id -1) the text between.
struct Segment {
  Piece piece;
  TokenId id = -1;
};

/// Added tokens that are searched together.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// Splits the piece: leftmost match first, then longest.
  std::vector<Segment> split(const Piece& piece) const;

 private:
  const AddedToken* match(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;                      // longest first
  std::array<std::vector<std::size_t>, 256> by_first_;  // indices by first byte
  std::array<bool, 256> begins_ = {};                   // whether by_first_ has any
};

}  // namespace heed
