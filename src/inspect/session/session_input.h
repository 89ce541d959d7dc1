// What a session was opened with, kept for as long as the session.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

struct SessionInput {
  std::string text = {};
  std::optional<std::string> pair = {};    // the second text that an encoder reads
  std::optional<std::string> target = {};  // what an encoder-decoder writes
  std::vector<TokenId> ids = {};           // in place of texts
  Edits edits = {};                        // canonical

  bool operator==(const SessionInput&) const = default;
  SessionTexts texts() const { return {.text = text, .pair = pair, .target = target}; }
};

/// The first token of the second text of a pair; what stands around the texts belongs to the one
/// before it, and to an empty second text the token that closes it, the last one.
std::int64_t pair_split(std::span<const SessionToken> tokens);

/// Whether a token belongs to no text, or its tokenizer calls it special; `tokenizer` may be null.
bool is_special(const Tokenizer* tokenizer, const SessionToken& token);

std::vector<TokenId> ids_of(std::span<const SessionToken> tokens);

}  // namespace heed
