// Byte-level byte-pair encoding as GPT-2 has it (Radford et al. 2019; Sennrich et al. 2016): bytes
// as characters, a pre-tokeniser that cuts at words, merges by rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

struct ByteBpeTraining {
  std::int64_t vocabulary_size = 4096;  // 256 bytes, special tokens and merges together
  std::vector<std::string> special_tokens = {"<|endoftext|>"};
};

/// Learns merges by pair frequency (ties: the smaller ids), deterministic; the same merges as the
/// trainer of `tokenizers` with a minimum frequency of 2. Ids: special tokens from 0 on, then the
/// 256 bytes, then the merges in the order in which they were learnt. Words end at special tokens.
/// Fewer tokens result where no pair repeats any more.
std::unique_ptr<Tokenizer> train_byte_bpe(std::string_view text, const ByteBpeTraining& training);

}  // namespace heed
