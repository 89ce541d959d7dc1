// The text of tokens as they arrive, in pieces that can be shown immediately.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "heed/tokenizer.h"

namespace heed {

/// Its text is always valid UTF-8: the bytes of an incomplete character are held back until it is
/// complete; bytes that cannot become one are U+FFFD. A possible beginning of a stop string is also
/// held back.
class TextStream {  // copies continue independently
 public:
  /// The tokenizer must outlive it. `prompt`: the preceding tokens, because some tokenizers write a
  /// token differently at the beginning of a text.
  TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
             std::span<const std::string> stops);

  /// Returns the text that is now final. Special tokens have none.
  std::string push(TokenId id);
  /// True once a stop string was complete; the text ends before it.
  bool stopped() const { return stopped_; }
  /// Returns the rest that was held back.
  std::string finish();

 private:
  bool has_text(TokenId id) const;
  std::string text_of(TokenId id);
  std::string release(std::size_t bytes);

  const Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::vector<TokenId> context_;  // the last tokens
  std::string held_;
  bool stopped_ = false;
};

}  // namespace heed
