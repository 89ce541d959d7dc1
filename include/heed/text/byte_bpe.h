// Byte-level byte-pair encoding as GPT-2 has it (Radford et al. 2019; Sennrich et al. 2016): bytes
// as characters, a pre-tokeniser that cuts at words, merges by rank.
#pragma once

#include <memory>
#include <string_view>

#include "heed/text/tokenizer.h"

namespace heed {

struct ByteBpeTraining {
  std::int64_t vocabulary_size = 4096;  // 256 bytes, special tokens and merges together
  std::vector<std::string> special_tokens = {"<|endoftext|>"};
};

/// Learns merges by pair frequency (ties: the pair that is smaller in bytes), deterministic.
std::unique_ptr<Tokenizer> train_byte_bpe(std::string_view text, const ByteBpeTraining& training);

}  // namespace heed
