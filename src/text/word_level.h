// Tokenizers whose tokens are the pieces of a list: characters (Unicode code points), like in
// char-rnn and nanoGPT, or words separated by spaces.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "heed/tokenizer.h"
#include "text/added_token.h"

namespace heed {

/// The vocabulary is the special tokens, then the sorted set of the text's characters. The error
/// for any other character names it and its byte. Saved as a `tokenizer.json` that gives the same
/// ids in the `tokenizers` library.
std::unique_ptr<Tokenizer> train_characters(std::string_view text,
                                            const LearnedSpecials& special = {});

/// One token per word of the list, in its order, after the special tokens; texts are words
/// separated by spaces. The error for an unknown word names it.
std::unique_ptr<Tokenizer> word_tokenizer(std::span<const std::string> words,
                                          const LearnedSpecials& special = {});

}  // namespace heed
