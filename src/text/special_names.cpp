#include "text/special_names.h"

namespace heed {

TokenId find_first(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const TokenId id = tokenizer.find(name); id >= 0) return id;
  return -1;
}

TokenId mask_token_of(const Tokenizer& tokenizer) {
  return find_first(tokenizer, {"[MASK]", "<mask>"});
}

TokenId pad_token_of(const Tokenizer& tokenizer) {
  return find_first(tokenizer, {"[PAD]", "<pad>"});
}

}  // namespace heed
