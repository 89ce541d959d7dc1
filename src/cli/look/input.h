// The input text of `heed look`, and how much memory `look` and `serve` may take for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option.h"
#include "heed/model.h"
#include "heed/session.h"

namespace heed::cli {

struct LookInput {
  std::string text, file;
  std::optional<std::string> pair;            // the second text, for an encoder
  std::optional<std::string> target;          // the output, for an encoder-decoder
  bool chat = false;                          // the text is a user's message
  std::optional<std::string> chat_text = {};  // the template's, once the model is known
  std::vector<TokenId> ids;
  std::string cut;  // "first" or "last" tokens; empty: all
};

/// Declares TEXT, --file, --pair, --target, --cut and --ids.
void add_look_input(OptionList& list, LookInput& input);

/// The kind of the built-in model to use without --model; `stack` is --stack's, empty if not given.
/// Throws if both --pair and --target are given, which no model reads.
ModelKind kind_that_reads(std::string_view text, bool has_pair, bool has_target,
                          std::string_view stack);

/// Reads --pair or --target from stdin if it is "-"; only one text may be.
void read_standard_input(LookInput& input);

/// The text, or the part of it that is kept.
std::string text_of(const LookInput& input, const LoadedModel& model);

/// A text's tokens before the pass; if there are too many, the error says which text to shorten and
/// how. Reports on stderr what the tokenizers lose.
Session cut_text(const LoadedModel& model, const SessionTexts& texts);

/// Throws if the session has more tokens than its model has positions: the argument is the text to
/// shorten, `pair` or `target`, else `input`.
void check_texts(const SessionTexts& texts, const Session& session);
/// Reports on stderr what the tokenizers lose of the texts.
void tell_of_lost_texts(std::string_view command, const LoadedModel& model,
                        const SessionTexts& texts, const Session& session);

struct MemoryOptions {
  KeptAttention keep = {};
  bool stream = false;                     // weights stay in the file
  std::optional<std::int64_t> limit = {};  // bytes; none: what is free
};

/// --keep, --keep-layers, --stream, --memory.
void add_memory_options(OptionList& list, MemoryOptions& options);

/// Whether a session that takes so many bytes is worth a line: 1 GiB, or half of what is free.
bool is_much_memory(std::int64_t bytes, std::optional<std::int64_t> free);

/// Before the pass of a session whose tokens are known: reads streamed weights into memory where
/// the session fits beside them, says on stderr what it takes where that is much, and throws
/// TooLittleMemory where it does not fit.
void make_room(std::string_view command, const LoadedModel& model, const Session& session,
               SessionOptions session_options, const MemoryOptions& options);

/// Says on stderr how far rounding q and k moves scores and weights.
void tell_of_rounding(std::string_view command, const Session& session);

}  // namespace heed::cli
