// The text of tokens as they come, in pieces that may be shown at once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

/// Its text is always valid UTF-8: a token that ends inside a character is held back until the
/// character is whole; bytes that cannot become one are U+FFFD. What may yet become a stop string
/// is held back, too.
class TextStream {  // copies go on by themselves
 public:
  /// The tokenizer must outlive it. `prompt`: what stands before, since some tokenizers write a
  /// token differently at the beginning of a text.
  TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
             std::span<const std::string> stops);

  /// The text that is final now. Special tokens have none.
  std::string push(TokenId id);
  /// True once a stop string was complete: the text ends before it.
  bool stopped() const { return stopped_; }
  /// The rest that was held back.
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
