// One edit tried: the words at a position as they are, and with the edit.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

struct TrialWord {
  TokenId id = 0;
  std::string bytes;
  double as_it_is = 0;
  double edited = 0;
};

struct Trial {
  std::int64_t position = 0;          // of the output that is looked at
  std::vector<TrialWord> words = {};  // the likeliest as it is, largest first
  double rest_as_it_is = 0, rest_edited = 0;
  std::int64_t rest_count = 0;
  /// How far the output at the position moved: |logits' - logits| / |logits|, or of a model without
  /// words the same of its last states.
  double moved = 0;
  /// The same of the whole text's vector, as the model's folder pools it: of an encoder
  /// without words.
  std::optional<double> text_moved = {};
};

/// The position whose output an edit at this query is asked about: its own, or none for a source,
/// behind whose tokens the model says nothing.
std::optional<std::int64_t> tried_position(const Session& session, Stack stack, std::int64_t query);

/// Runs the session's tokens twice. No position: the one where the likeliest word changes most.
Trial try_edits(const Session& session, const LoadedModel& model, const Edits& edits,
                std::optional<std::int64_t> position, std::int64_t top,
                const std::atomic<bool>* stopped = nullptr);

/// The token that `text` is (kInvalidArgument where it is none or several).
TokenId one_token(const Session& session, TokenSide side, const std::string& text);

}  // namespace heed
