// What the scores of a layer's heads know beside its weights: its tokens, and what values write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// Between two lists of tokens there are neither kinds nor words.
struct ScoredLayer {
  std::size_t rows = 0;                       // 0: the tokens are not known
  std::vector<std::int32_t> kinds = {};       // equal where tokens are equal
  std::vector<std::int32_t> words = {};       // rising; tokens of one word have the same
  std::vector<std::int32_t> source = {};      // of a cross-attention: keys that are not special
  std::vector<std::int32_t> delimiters = {};  // keys past the first that are special, or no words
  std::vector<std::int32_t> cells = {};       // keys that are cells of images, rising
  std::vector<bool> counted_by_images = {};   // by row, where there are such keys
  ConstView write_lengths = {};               // LayerAttention's; not given: |v| stands in
  bool has_values = true;                     // otherwise nothing is known of what it carries
};

/// Whether the token holds a letter, a number, a mark or a part of a character, and is not special.
bool is_word(const Tokenizer* tokenizer, const SessionToken& token);

ScoredLayer scored_layer(const Session& session, Stack stack, int layer);

}  // namespace heed
