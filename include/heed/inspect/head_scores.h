// What a head attends to on the whole, as a few numbers.
#pragma once

#include <optional>
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

/// Of the rows of each text of a pair, in the mean, the share of their weight that goes to each
/// text; and of all rows the share of the first token.
struct PairShares {
  double a_to_a = 0, a_to_b = 0, b_to_a = 0, b_to_b = 0, to_first = 0;
};

/// Of a cross-attention: whether what is written follows what is read.
struct SourceOrder {
  double in_order = 0;  // mean weight of query i on key i, over the queries that have one
  double peak = 0;      // mean of the largest weight of a row
};

/// One head's scores.
struct HeadScores {
  Place place;
  std::vector<double> values;  // as score_infos(); those that look ahead are 0 where causal
  std::optional<PairShares> shares = {};  // of a pair of texts
  std::optional<SourceOrder> order = {};  // of a cross-attention

  /// Throws kNotFound for a name that no score has.
  double of(std::string_view name) const;
};

/// One sweep over the layer; memory does not grow with the square of the text. One entry
/// a head. `split`: where the second text of a pair begins.
std::vector<HeadScores> score_heads(const LayerAttention& layer, int index,
                                    Stack stack = Stack::kSelf,
                                    std::optional<std::int64_t> split = {});

/// Every stack's layers, in order, with what a pair or a cross-attention has.
std::vector<HeadScores> score_heads(const Session& session);

}  // namespace heed
