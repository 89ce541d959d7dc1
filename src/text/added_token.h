// Tokens with a name: those found in the text before anything else is done with it, such as
// `<|endoftext|>`, and the special ones of a vocabulary.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/text/tokenizer.h"

namespace heed {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;
  bool normalized = false;   // searched in the text after the normaliser
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool single_word = false;  // only where no word character touches it
};

/// The first of these names that the tokenizer has, or -1.
TokenId find_first(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names);

/// `[MASK]` of BERT, `<mask>` of RoBERTa; -1 where there is none.
TokenId mask_token_of(const Tokenizer& tokenizer);
/// What fills short texts up; -1 where there is none.
TokenId pad_token_of(const Tokenizer& tokenizer);

/// Special tokens of a vocabulary that is made here, not read from a file.
struct LearnedSpecials {
  std::vector<std::string> tokens = {};  // they have the first ids
  std::string begin = {};                // put before each text; one of them, or empty for none
  std::string end = {};                  // put behind it

  std::vector<AddedToken> added() const;
  /// Null where nothing is put around a text.
  Json post_processor() const;
};

}  // namespace heed
