// Tries one edit: the words at a position, without and with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/session.h"

namespace heed {

struct TrialWord {
  TokenId id = 0;
  std::string bytes;
  double as_it_is = 0;
  double edited = 0;
};

struct Trial {
  std::int64_t position = 0;          // of the compared output
  std::vector<TrialWord> words = {};  // the likeliest without the edit, largest first
  double rest_as_it_is = 0, rest_edited = 0;
  std::int64_t rest_count = 0;
  /// How far the output at the position moved: |logits' - logits| / |logits|, or the same for the
  /// last states of a model without a vocabulary.
  double moved = 0;
  /// For an encoder without a vocabulary: the same for the whole text's vector, as pooled by the
  /// model's folder.
  std::optional<double> text_moved = {};
};

/// The position whose output shows an edit at this query: its own, or none for a source, after
/// whose tokens the model predicts nothing.
std::optional<std::int64_t> tried_position(const Session& session, Stack stack, std::int64_t query);

/// Runs the session's tokens twice. Without a position, uses the one where the likeliest word
/// changes most.
Trial try_edits(const Session& session, const LoadedModel& model, const Edits& edits,
                std::optional<std::int64_t> position, std::int64_t top,
                const std::atomic<bool>* stopped = nullptr);

/// The single token of `text` (kInvalidArgument if it is none or several).
TokenId one_token(const Session& session, TokenSide side, const std::string& text);

}  // namespace heed
