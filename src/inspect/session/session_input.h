// The input of a session: texts or ids, and edits. A pass over its tokens, with a tap on the
// activations.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/session.h"

namespace heed {

struct SessionInput {
  std::string text = {};
  std::optional<std::string> pair = {};    // the second text that an encoder reads
  std::optional<std::string> target = {};  // what an encoder-decoder writes
  std::optional<std::string> chat = {};    // in which the text is the last message
  std::vector<TokenId> ids = {};           // in place of texts
  Edits edits = {};                        // canonical

  bool operator==(const SessionInput&) const = default;
  SessionTexts texts() const {
    return {.text = text, .pair = pair, .target = target, .chat = chat};
  }
};

/// Returns the first token of the second text of a pair. Special tokens belong to the text before
/// them. An empty second text begins at its closing token, the last one.
std::int64_t pair_split(std::span<const SessionToken> tokens);

/// Whether a token belongs to no text, or its tokenizer calls it special; `tokenizer` may be null.
bool is_special(const Tokenizer* tokenizer, const SessionToken& token);

std::vector<TokenId> ids_of(std::span<const SessionToken> tokens);

/// Throws TooManyTokens if the session has more tokens than its model has positions.
void check_length(const Session& session);

/// Whether more than half of the tokens are parts of characters: single bytes of a script that the
/// vocabulary hardly covers.
bool are_mostly_parts_of_characters(std::span<const SessionToken> tokens);

/// Returns a string that differs between models and between states of one folder: the name, this
/// version of heed, and size and time of each file. A model without a folder can change unnoticed,
/// so each call returns a different string.
std::string model_identity(const LoadedModel& model);

/// Returns 16 hexadecimal digits: a hash of the model and of the input.
std::string session_name(std::string_view model_identity, const SessionInput& input);

struct PassOptions {
  Tap* tap = nullptr;
  bool all_positions = false;  // logits of every position instead of the last one
  const std::atomic<bool>* stopped = nullptr;
};

/// Returns logits [T or 1, V]; for a model without a word head, the last states [T, C]. Keeps
/// nothing else.
Tensor pass_over(const Session& session, const LoadedModel& model, const PassOptions& options);

}  // namespace heed
