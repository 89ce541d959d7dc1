// Tokens that are found in the text before anything else is done with it: `<|endoftext|>`.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;
  bool normalized = false;  // searched in the second round
  bool lstrip = false;      // takes the white space before it
  bool rstrip = false;      // takes the white space after it
};

/// A stretch of text: an added token, or (id -1) what lies between.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TokenId id = -1;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// Cuts the text: leftmost first, then longest; tokens that are not `normalized` go first, as in
  /// the `tokenizers` library.
  std::vector<Segment> split(std::string_view text) const;
  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  void split_round(std::string_view text, Segment segment, bool normalized,
                   std::vector<Segment>& out) const;
  const AddedToken* match(std::string_view text, std::size_t at, bool normalized) const;

  std::vector<AddedToken> tokens_;                      // longest first
  std::array<std::vector<std::size_t>, 256> by_first_;  // indices by first byte
};

}  // namespace heed
