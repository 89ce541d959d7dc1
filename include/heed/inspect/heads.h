// Heads by what they do: their scores on a text, filters of heads, probes on texts made for that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
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

/// Holds for a head where all terms do; without terms for every head.
struct HeadFilter {
  /// `previous>0.2`, by a score's name or short form, or `layer 4-8`, `head 3`: a range.
  struct Term {
    std::string name;
    enum class Test : std::uint8_t { kAbove, kAtLeast, kBelow, kAtMost, kWithin } test;
    double first = 0;     // the bound, or the range's first
    double last = 0;      // of a range
    std::int64_t at = 0;  // where it begins in `text`
  };
  std::vector<Term> terms = {};
  std::string text = {};  // as it was written

  bool holds(const HeadScores& head) const;
  /// How far the head is from passing: the distance to each bound or range, summed over the terms.
  double distance(const HeadScores& head) const;
};

/// Errors (kInvalidArgument) say what was found at which character, and what was expected there.
HeadFilter parse_head_filter(std::string_view text);

/// Throws unless every score that it names is one of `scores` or the short form of one.
void check_head_filter(const HeadFilter& filter, std::span<const std::string_view> scores);

struct ProbeOptions {
  int sequences = 16;
  std::int64_t period = 0;  // tokens before the sequence repeats; 0: 64, less where positions end
  std::uint64_t seed = 0;
};

/// Means, over the rows i of the second half (i >= P, the period), of a head's weights p[i, j].
struct ProbedHead {
  int layer = 0;
  int head = 0;
  double previous = 0;   // mean p[i, i - 1]
  double next = 0;       // mean p[i, i + 1], of all rows but the last; 0 where heads are causal
  double sink = 0;       // mean p[i, 0]: the first token
  double duplicate = 0;  // mean p[i, i - P]: the same token, a period ago
  double induction = 0;  // mean p[i, i - P + 1]: the token that followed it (Olsson et al. 2022)
};

struct Probe {
  std::int64_t period = 0;
  int sequences = 0;
  std::vector<ProbedHead> heads;  // layer by layer
  /// Nats a token: of those that nothing announces, and of those that the repetition announces.
  double loss_first = 0;
  double loss_repeated = 0;
};

/// Sequences of `period` tokens, uniform over the vocabulary without its special tokens, each
/// written twice. Errors (kInvalidArgument): fewer than 2 x 2 positions, options out of range.
Probe probe_heads(const LoadedModel& model, const ProbeOptions& options = {});

/// Runs the same sequences and hands each over, as a session of 2 x period tokens.
void visit_probe(const LoadedModel& model, const ProbeOptions& options,
                 const std::function<void(const Session& session, std::int64_t period)>& use);

/// One sequence's layer: one sweep. `index` is the layer's number, for the result.
std::vector<ProbedHead> probe_layer(const LayerAttention& layer, int index, std::int64_t period);

struct PronounOptions {
  std::int64_t sentences = 200;
  std::uint64_t seed = 0;
};

/// Of the row of the pronoun, over all sentences.
struct PronounHead {
  Place place;
  double right = 0;  // share of the sentences where its noun has more weight than the other one
  double noun = 0;   // mean weight of the noun phrase ("baker Mary"), all its tokens together
  double other = 0;  // mean weight of the other candidate
};

/// "The baker Mary met the smith John at the inn. Soon he": a woman and a man whose names no story
/// of heed's own training texts brings together, in both orders. Every head of the first stack, in
/// order. Errors (kInvalidArgument): a model that reads no text, or too few positions.
std::vector<PronounHead> probe_pronouns(const LoadedModel& model,
                                        const PronounOptions& options = {});

}  // namespace heed
