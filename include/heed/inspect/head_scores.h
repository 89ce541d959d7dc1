// What a head attends to on the whole, as a few numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// What a score counts: how it is written, and how long its bars are.
enum class ScoreUnit : std::uint8_t { kShare, kTokens, kNats, kSize };
/// What it is computed from: the weights (and values) on the text; the probe of random tokens that
/// repeat; the text once more without the head.
enum class ScoreFrom : std::uint8_t { kText, kProbe, kRun };

/// "share", "tokens", "nats", "size".
std::string_view unit_name(ScoreUnit unit);
/// "text", "probe", "run".
std::string_view from_name(ScoreFrom from);

/// One score, as every answer about heads names it.
struct ScoreInfo {
  std::string_view name;        // "previous"
  std::string_view short_name;  // "prev": at most 7 letters, for chips and tables
  std::string_view about;       // one line
  bool is_share = false;        // comparable with others that have it: names what a head does
  bool looks_ahead = false;     // 0 for every causal head, and left out there
  std::string_view title = {};  // "1 back": under its name, at most 20 letters
  ScoreUnit unit = ScoreUnit::kShare;
  double threshold = 0;  // from which on a head is said to do it; 0: there is none
  ScoreFrom from = ScoreFrom::kText;
  bool reads_source = false;  // only a cross-attention has it
  bool of_images = false;     // only an attention to images has it
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

/// One head's scores. NaN: not computed, or not there for such an attention or model.
///
/// Each has two forms. Sink-adjusted means: every row without the first token, renormalised, and
/// rows weigh as much as they have left. What does not come from rows is the same in both forms.
struct HeadScores {
  Place place;
  std::vector<double> values;         // as score_infos(); those that look ahead are 0 where causal
  std::vector<double> adjusted = {};  // the same, sink-adjusted
  std::optional<PairShares> shares = {};  // of a pair of texts
  std::optional<SourceOrder> order = {};  // of a cross-attention

  /// Throws kNotFound for a name that no score has.
  double of(std::string_view name) const;
};

/// The scores on the text of a layer whose tokens are not known, so without those that depend on
/// tokens. One sweep; memory does not grow with the square of the text. One entry a head.
std::vector<HeadScores> score_heads(const LayerAttention& layer, int index,
                                    Stack stack = Stack::kSelf);

/// The scores on the text of a session's layer.
std::vector<HeadScores> score_heads(const Session& session, Stack stack, int layer);

/// Every stack's layers, in order, with what a pair or a cross-attention has.
std::vector<HeadScores> score_heads(const Session& session);

}  // namespace heed
