// What a head attends to on the whole, as a few numbers.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// One score, as every answer about heads names it.
struct ScoreInfo {
  std::string_view name;        // "previous"
  std::string_view short_name;  // "prev": at most 7 letters, for chips and tables
  std::string_view about;       // one line
  bool is_share = false;        // 0 to 1, comparable with other shares: names what a head does
  bool looks_ahead = false;     // 0 for every causal head, and left out there
};

/// All of them, in the order in which they are shown.
std::span<const ScoreInfo> score_infos();

/// One head's scores.
struct HeadScores {
  Place place;
  std::vector<double> values;  // as score_infos(); those that look ahead are 0 where causal

  /// Throws kNotFound for a name that no score has.
  double of(std::string_view name) const;
};

/// One sweep over the layer; memory does not grow with the square of the text. One entry a head.
std::vector<HeadScores> score_heads(const LayerAttention& layer, int index,
                                    Stack stack = Stack::kSelf);

/// Every stack's layers, in order.
std::vector<HeadScores> score_heads(const Session& session);

}  // namespace heed
