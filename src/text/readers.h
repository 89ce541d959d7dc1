// The readers of `tokenizer.json`, one for each kind of tokenizer.
#pragma once

#include <memory>

#include "heed/text/tokenizer.h"
#include "text/tokenizer_file.h"

namespace heed {

bool is_byte_bpe(const TokenizerFile& file);
std::unique_ptr<Tokenizer> read_byte_bpe(const TokenizerFile& file);

bool is_characters(const TokenizerFile& file);
std::unique_ptr<Tokenizer> read_characters(const TokenizerFile& file);

/// The text of a byte-level `tokenizer.json`; merges as `left right`.
std::string byte_bpe_json(const std::vector<std::string>& pieces,
                          const std::vector<std::string>& merges,
                          const std::vector<AddedToken>& added_tokens);

}  // namespace heed
