// What head scores need besides weights: a layer's tokens, their content, and the two sides of an
// attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"

namespace heed {

/// If queries and keys are different tokens, there are neither kinds nor words.
struct ScoredLayer {
  std::size_t rows = 0;                       // 0: unknown tokens
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

/// Whether the first content word counts half, since many rows of a causal text attend to it.
enum class FirstWord : std::uint8_t { kWhole, kHalf };

/// One number per token: 1 for a content word or a pronoun, 1/2 for a grammatical word or a part of
/// a word, 1/8 for a part of a character, 0 for special tokens and punctuation.
std::vector<double> content_of(std::span<const SessionToken> tokens, const Tokenizer* tokenizer,
                               FirstWord first);

/// Text B begins at token `split`.
PairShares pair_shares(const LayerAttention& layer, int head, std::int64_t split);

SourceOrder source_order(const LayerAttention& layer, int head);

/// Adds the scores of an attention between two sides: for a pair, whose second text begins at
/// `split`, its shares; for a cross-attention its order.
void score_sides(HeadScores& head, const LayerAttention& layer, std::optional<std::int64_t> split);

}  // namespace heed
