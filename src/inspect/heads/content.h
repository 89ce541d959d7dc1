// How much tokens say of what a text is about.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// Whether the first word that has content counts half: in a causal text many rows look there.
enum class FirstWord : std::uint8_t { kWhole, kHalf };

/// Returns a number per token: 1 for a content word or a pronoun, 1/2 for a word of grammar and for
/// a part of a word, 1/8 for a part of a character, 0 for a special token and for punctuation.
std::vector<double> content_of(std::span<const SessionToken> tokens, const Tokenizer* tokenizer,
                               FirstWord first);

}  // namespace heed
