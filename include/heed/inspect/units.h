// Groups of tokens: characters whose bytes are several tokens, words, sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

enum class Unit : std::uint8_t { kToken, kCharacter, kWord, kSentence };

std::string_view unit_name(Unit unit);
std::optional<Unit> unit_of(std::string_view name);

/// The first token of each unit, in order; each unit ends where the next begins. Words and
/// sentences are those of UAX 29, and in scripts that write words without spaces a run of one
/// script is a word (Han beside Japanese letters). A special token, a cell of an image and a token
/// of spaces is each a word of its own; the first two are each a sentence of their own, too.
struct TokenUnits {
  std::vector<std::int64_t> characters = {};
  std::vector<std::int64_t> words = {};
  std::vector<std::int64_t> sentences = {};

  /// Empty for kToken.
  const std::vector<std::int64_t>& of(Unit unit) const;
};

/// `tokenizer` says which tokens are special; null: only those without text.
TokenUnits token_units(std::span<const SessionToken> tokens, const Tokenizer* tokenizer);

}  // namespace heed
