// A token that is found in the text before anything else is done with it: `<|endoftext|>`.
#pragma once

#include <string>

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

}  // namespace heed
