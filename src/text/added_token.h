// Tokens with a name: those searched in the text before any other step, such as `<|endoftext|>`,
// and a vocabulary's special tokens.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/tokenizer.h"

namespace heed {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;
  bool normalized = false;   // searched in the text after the normaliser
  bool lstrip = false;       // includes white space before it
  bool rstrip = false;       // includes white space after it
  bool single_word = false;  // only if not adjacent to a word character
};

/// The first of these names that the tokenizer has; -1 if none.
TokenId find_first(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names);

/// BERT's `[MASK]`, RoBERTa's `<mask>`; -1 if there is none.
TokenId mask_token_of(const Tokenizer& tokenizer);
/// The token that pads short texts; -1 if there is none.
TokenId pad_token_of(const Tokenizer& tokenizer);

/// Special tokens of a vocabulary trained here, not read from a file.
struct LearnedSpecials {
  std::vector<std::string> tokens = {};  // have the first ids
  std::string begin = {};                // put before each text; one of `tokens`, or empty
  std::string end = {};                  // put after it

  std::vector<AddedToken> added() const;
  /// Null if nothing is put around a text.
  Json post_processor() const;
};

}  // namespace heed
