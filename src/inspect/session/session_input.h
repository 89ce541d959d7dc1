// The input of a session: texts or ids, and edits. Texts are cut to what the model can read, and
// written as its folder says. A pass over a session's tokens, with a tap on the activations.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/generate.h"
#include "heed/model.h"
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

enum class Keep { kAll, kFirst, kLast };

/// Returns the part of `text` that has at most as many tokens as `model` has positions; all of
/// `text` if it fits or if all is to be kept. Cuts between characters, and between tokens where a
/// token ends with a character. The tokens of `pair`, a second text, count but are not cut.
std::string shorten(const LoadedModel& model, const std::string& text, Keep keep,
                    std::optional<std::string_view> pair = {});

/// The same part of the last message, such that the whole chat fits.
std::string shorten(const LoadedModel& model, std::span<const ChatMessage> messages, Keep keep);

/// The tokens of a chat, placed within its last message, which the template may have trimmed.
/// begin = end outside of the message.
Encoding encode_chat(const LoadedModel& model, std::string_view chat, std::string_view message);

/// Sets `args` from the folder's generation_config.json, except the members that are `given`. Like
/// transformers, generation is greedy unless the file asks for sampling.
void follow_folder(const LoadedModel& model, GenerateArgs& args,
                   std::span<const std::string_view> given = {});

}  // namespace heed
