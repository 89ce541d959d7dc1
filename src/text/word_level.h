// Tokenizers whose tokens are whole pieces of a list: characters (Unicode code points), as char-rnn
// and nanoGPT have it, or words between blanks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "heed/text/tokenizer.h"
#include "text/added_token.h"

namespace heed {

/// The vocabulary is the special tokens, then the sorted set of the text's characters. Encoding a
/// character outside of it is an error that names it and its byte. Written as a `tokenizer.json`
/// that the `tokenizers` library reads to the same ids.
std::unique_ptr<Tokenizer> train_characters(std::string_view text,
                                            const LearnedSpecials& special = {});

/// One token a word of the list, in its order behind the special tokens; texts are words between
/// blanks. A word that is not in the list is an error that names it.
std::unique_ptr<Tokenizer> word_tokenizer(std::span<const std::string> words,
                                          const LearnedSpecials& special = {});

}  // namespace heed
