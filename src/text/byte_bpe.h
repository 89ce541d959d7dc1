// Byte-level byte-pair encoding like GPT-2's (Radford et al. 2019; Sennrich et al. 2016): bytes as
// characters, a pre-tokeniser that splits words, merges by rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/tokenizer.h"
#include "text/added_token.h"

namespace heed {

struct ByteBpeTraining {
  std::int64_t vocabulary_size = 4096;  // 256 bytes, special tokens and merges together
  std::vector<std::string> special_tokens = {"<|endoftext|>"};
  std::string begin = {};  // put before each text; a special token, or empty
  std::string end = {};    // put after it
};

/// Learns merges by pair frequency (ties: the smaller ids), deterministic; gives the same merges as
/// the trainer of `tokenizers` with a minimum frequency of 2. Ids: special tokens from 0 on, then
/// the 256 bytes, then the merges in the order in which they were learnt. Words end at special
/// tokens. The vocabulary is smaller if no pair repeats any more.
std::unique_ptr<Tokenizer> train_byte_bpe(std::string_view text, const ByteBpeTraining& training);

/// Characters as a byte-level BPE in Qwen2's form, because transformers reads every Qwen2 tokenizer
/// as such: a piece for each character, and pieces for the bytes of longer ones.
std::unique_ptr<Tokenizer> train_qwen2_characters(std::string_view text);

/// A byte-level tokenizer: pieces by id and merges (`left right`), in the byte alphabet.
struct ByteBpeContent {
  std::vector<std::string> pieces = {};
  std::vector<std::string> merges = {};
  std::vector<AddedToken> added_tokens = {};
  std::string pattern = {};     // of words; empty: GPT-2's
  std::string normalizer = {};  // its type; empty: none
  bool digits_alone = false;    // each digit is a word
  Json post_processor = {};     // null: none
  bool add_prefix_space = false;
  bool ignore_merges = false;
};
/// The text of its `tokenizer.json`.
std::string byte_bpe_json(const ByteBpeContent& content);

}  // namespace heed
