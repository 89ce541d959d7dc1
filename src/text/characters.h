// One token a character (Unicode code point), as char-rnn and nanoGPT have it.
#pragma once

#include <memory>
#include <string_view>

#include "heed/text/tokenizer.h"

namespace heed {

/// The vocabulary is the sorted set of the text's characters. Encoding a character outside of it is
/// an error that names it and its byte. Written as a `tokenizer.json` that the `tokenizers` library
/// reads to the same ids.
std::unique_ptr<Tokenizer> train_characters(std::string_view text);

}  // namespace heed
