// The text that `heed look` reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option.h"
#include "heed/inspect/session.h"
#include "heed/models/registry.h"

namespace heed::cli {

struct LookInput {
  std::string text, file;
  std::string pair;    // the second text that an encoder reads
  std::string target;  // what an encoder-decoder writes
  bool has_pair = false;
  bool has_target = false;
  bool chat = false;  // the text is a user's message
  std::vector<TokenId> ids;
  std::string cut;  // "first" or "last" tokens; empty: all of them
};

/// Declares TEXT, --file, --pair, --target, --cut and --ids.
void add_look_input(OptionList& list, LookInput& input);

/// --pair and --target, where they were given.
std::optional<std::string> pair_of(const LookInput& input);
std::optional<std::string> target_of(const LookInput& input);

/// Of the built-in model that is used without --model; `stack` is --stack's, empty where not given.
/// Throws where both --pair and --target are given, which no model reads.
ModelKind kind_that_reads(std::string_view text, bool has_pair, bool has_target,
                          std::string_view stack);

/// Reads --pair or --target from stdin where it is "-"; of all texts one may be.
void read_standard_input(LookInput& input);

/// The text, or the part of it that is kept.
std::string text_of(const LookInput& input, const LoadedModel& model);

/// A text's tokens before the pass; where they are too many the error says which text to shorten
/// and how. Says on stderr what the tokenizers lose.
Session cut_text(const LoadedModel& model, const SessionTexts& texts);

/// Throws where the session has more tokens than its model has positions: the argument is the text
/// to shorten, `pair` or `target`, else `input`.
void check_texts(const SessionTexts& texts, const Session& session);
/// Says on stderr what the tokenizers lose of the texts.
void tell_of_lost_texts(std::string_view command, const LoadedModel& model,
                        const SessionTexts& texts, const Session& session);

}  // namespace heed::cli
