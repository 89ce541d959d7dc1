// Questions about a session, and the answers that `heed look` shows: what the heads do, the units
// of a text, attention between tokens, the next word.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "heed/session.h"
#include "heed/tokenizer.h"

namespace heed {

// -------------------------------------------------------------------------------------------------
// What heads do: their scores on a text, filters of heads, and probes on texts made for them.

/// The unit of a score: how numbers are written and bars are scaled.
enum class ScoreUnit : std::uint8_t { kShare, kTokens, kNats, kSize };
/// The source of a score: the weights (and values) on the text, the probe of repeated random
/// tokens, or another run of the text without the head.
enum class ScoreFrom : std::uint8_t { kText, kProbe, kRun };

/// "share", "tokens", "nats", "size".
std::string_view unit_name(ScoreUnit unit);
/// "text", "probe", "run".
std::string_view from_name(ScoreFrom from);

/// One score, as every answer about heads describes it.
struct ScoreInfo {
  std::string_view name;        // "previous"
  std::string_view short_name;  // "prev": at most 7 letters, for chips and tables
  std::string_view about;       // one line of description
  bool is_share = false;        // comparable with the other shares: can name what a head does
  bool looks_ahead = false;     // 0 for every causal head, and omitted there
  std::string_view title = {};  // "1 back": a caption of at most 20 letters
  ScoreUnit unit = ScoreUnit::kShare;
  double threshold = 0;  // a head is said to do it from this value on; 0: no threshold
  ScoreFrom from = ScoreFrom::kText;
  bool reads_source = false;  // only a cross-attention has it
  bool of_images = false;     // only an attention to images has it
};

/// All scores, in display order.
std::span<const ScoreInfo> score_infos();

/// For each text of a pair, the mean over its rows of the weight that goes to each text; and over
/// all rows the weight of the first token.
struct PairShares {
  double a_to_a = 0, a_to_b = 0, b_to_a = 0, b_to_b = 0, to_first = 0;
};

/// Cross-attention only: whether the output follows the source in order.
struct SourceOrder {
  double in_order = 0;  // mean weight of query i on key i, over the queries that have this key
  double peak = 0;      // mean over rows of the largest weight
};

/// One head's scores. NaN: not computed, or undefined for this attention or model.
///
/// Each score has two forms. The sink-adjusted form drops the first token from every row,
/// renormalises the row, and weights rows by the share that remains. A score that is not computed
/// from rows is the same in both forms.
struct HeadScores {
  Place place;
  std::vector<double> values;             // like score_infos(); scores that look ahead: 0 if causal
  std::vector<double> adjusted = {};      // the sink-adjusted forms
  std::optional<PairShares> shares = {};  // for a pair of texts
  std::optional<SourceOrder> order = {};  // for cross-attention

  /// Throws kNotFound for an unknown name.
  double of(std::string_view name) const;
};

/// Scores a layer whose tokens are unknown, so scores that depend on tokens are missing. One sweep;
/// memory does not grow with the square of the text. One entry per head.
std::vector<HeadScores> score_heads(const LayerAttention& layer, int index,
                                    Stack stack = Stack::kSelf);

/// Scores one layer of a session.
std::vector<HeadScores> score_heads(const Session& session, Stack stack, int layer);

/// Scores the layers of every stack, in order, including the scores of pairs and cross-attention.
std::vector<HeadScores> score_heads(const Session& session);

/// Accepts a head if all terms hold; without terms it accepts every head.
struct HeadFilter {
  /// `previous>0.2`, with a score's name or short name; or a range: `layer 4-8`, `head 3`.
  struct Term {
    std::string name;
    enum class Test : std::uint8_t { kAbove, kAtLeast, kBelow, kAtMost, kWithin } test;
    double first = 0;     // the bound, or the start of the range
    double last = 0;      // the end of the range
    std::int64_t at = 0;  // where the term begins in `text`
  };
  std::vector<Term> terms = {};
  std::string text = {};  // the term as written

  bool holds(const HeadScores& head) const;
  /// How far the head is from passing: the sum over the terms of its distance to the bound or
  /// range.
  double distance(const HeadScores& head) const;
};

/// Errors (kInvalidArgument) give the character, what was found there and what was expected.
HeadFilter parse_head_filter(std::string_view text);

/// Throws unless `scores` has every score that it names, by name or by short name.
void check_head_filter(const HeadFilter& filter, std::span<const std::string_view> scores);

struct ProbeOptions {
  int sequences = 16;
  std::int64_t period = 0;  // tokens before the sequence repeats; 0: 64, or fewer positions
  std::uint64_t seed = 0;
};

/// Means over the rows i of the second half (i >= P, the period) of a head's weights p[i, j].
struct ProbedHead {
  int layer = 0;
  int head = 0;
  double previous = 0;   // mean p[i, i - 1]
  double next = 0;       // mean p[i, i + 1] over all rows except the last; 0 for causal heads
  double sink = 0;       // mean p[i, 0]: the first token
  double duplicate = 0;  // mean p[i, i - P]: the same token one period earlier
  double induction = 0;  // mean p[i, i - P + 1]: the token that followed it (Olsson et al. 2022)
};

struct Probe {
  std::int64_t period = 0;
  int sequences = 0;
  std::vector<ProbedHead> heads;  // layer by layer
  /// Nats per token: for tokens that nothing predicts, and for tokens that the repetition predicts.
  double loss_first = 0;
  double loss_repeated = 0;
};

/// Runs sequences of `period` tokens, drawn uniformly from the vocabulary without its special
/// tokens, each written twice. Errors (kInvalidArgument): fewer than 2 x 2 positions, options out
/// of range.
Probe probe_heads(const LoadedModel& model, const ProbeOptions& options = {});

/// Runs the same sequences and passes on each as a session of 2 x period tokens.
void visit_probe(const LoadedModel& model, const ProbeOptions& options,
                 const std::function<void(const Session& session, std::int64_t period)>& use);

/// Probes one layer of one sequence in one sweep. `index` is the layer's number in the result.
std::vector<ProbedHead> probe_layer(const LayerAttention& layer, int index, std::int64_t period);

struct PronounOptions {
  std::int64_t sentences = 200;
  std::uint64_t seed = 0;
};

/// Measures the pronoun's row over all sentences.
struct PronounHead {
  Place place;
  double right = 0;  // share of the sentences where its noun outweighs the other candidate
  double noun = 0;   // mean weight of the noun phrase ("baker Mary"), summed over its tokens
  double other = 0;  // mean weight of the other candidate
};

/// "The baker Mary met the smith John at the inn. Soon he": a woman and a man, in both orders,
/// whose names never occur together in heed's training stories. Probes every head of the first
/// stack, in order. Errors (kInvalidArgument): a model that reads no text, or too few positions.
std::vector<PronounHead> probe_pronouns(const LoadedModel& model,
                                        const PronounOptions& options = {});

// -------------------------------------------------------------------------------------------------
// Groups of tokens: characters whose bytes are several tokens, words, sentences.

enum class Unit : std::uint8_t { kToken, kCharacter, kWord, kSentence };

std::string_view unit_name(Unit unit);
std::optional<Unit> unit_of(std::string_view name);

/// The first token of each unit, in order; each unit ends where the next begins. Words and
/// sentences are those of UAX 29, and in scripts that write words without spaces a run of one
/// script is a word (Han beside Japanese letters). A special token, a cell of an image and a token
/// of spaces is each a word of its own; the first two are each a sentence of their own, too.
struct TokenUnits {
  std::vector<std::int64_t> characters = {};
  std::vector<std::int64_t> words = {};
  std::vector<std::int64_t> sentences = {};

  /// Empty for kToken.
  const std::vector<std::int64_t>& of(Unit unit) const;
};

/// `tokenizer` says which tokens are special; null: only those without text.
TokenUnits token_units(std::span<const SessionToken> tokens, const Tokenizer* tokenizer);

// -------------------------------------------------------------------------------------------------
// Attention between tokens, and the next word.

struct NextWord {
  TokenId id = 0;
  std::string bytes;
  double probability = 0;
  double logit = 0;
};

struct NextWords {
  std::vector<NextWord> words;  // largest first
  std::int64_t rest_count = 0;
  double rest_probability = 0;
};

/// A mask token of an encoder's text, and the words that may fill it.
struct FilledMask {
  std::int64_t at = 0;
  NextWords words;
};

/// The `top` largest probabilities after the last token; empty if the model has no vocabulary
/// output.
NextWords next_words(const Session& session, std::int64_t top);

/// The `top` largest probabilities at each mask token; empty unless the session kept the
/// logits of all positions.
std::vector<FilledMask> filled_masks(const Session& session, std::int64_t top);

struct LookKey {
  std::int64_t key = 0;
  float weight = 0;
};

/// The largest weights of one row, ties to the lower key, and the rest.
struct LookRow {
  std::int64_t query = 0;
  double entropy = 0;  // nats
  std::vector<LookKey> attends = {};
  std::int64_t rest_count = 0;  // visible keys that are not listed
  double rest_weight = 0;
  std::optional<double> sink = {};  // the sink's share of the weight, if the model has a sink
};

struct LookQuery {
  std::int64_t query = 0;
  float weight = 0;
};

/// The largest weights on one key, ties to the lower query, and the rest.
struct LookColumn {
  std::int64_t key = 0;
  double sum = 0;  // sum over all queries
  std::vector<LookQuery> from = {};
  std::int64_t rest_count = 0;  // queries that see the key and are not listed
  double rest_weight = 0;
};

/// One weight and its parts: weight = e^(score - lse).
struct LookCell {
  std::int64_t query = 0;
  std::int64_t key = 0;
  bool visible = false;  // false: the mask hides the key from the query; all other fields are 0
  double weight = 0;
  double score = 0;
  double lse = 0;
  std::int64_t rank = 0;                 // 1 = the row's largest weight; ties to the lower key
  std::int64_t of = 0;                   // number of visible keys in the row
  std::vector<LookKey> others = {};      // the two largest other keys of the row
  double write_length = 0, carried = 0;  // |W_O v| or |v| of the key; its share of the row's writes
};

/// Which head is shown, at which edge, and why.
struct ChosenHead {
  Stack stack = Stack::kSelf;
  int layer = 0;
  int head = 0;
  bool automatic = false;
  std::optional<std::int64_t> query = {}, key = {};  // the edge to show; no key: the row alone
  std::string reason = {};                           // a sentence
  double score = 0;                                  // the score it was chosen by
};

/// What to look at.
struct LookRequest {
  std::optional<Stack> stack = {};
  std::optional<int> layer = {};  // if both are empty, heed chooses: by the edge, if queries
  std::optional<int> head = {};   // and cell_keys name one, else as choose_head says
  Unit unit = Unit::kToken;  // unit of the rows, and of their keys if these are the same tokens
  std::int64_t top = 3;      // keys per row; negative: every visible key
  std::vector<std::int64_t> queries = {};  // sorted; empty: every row, or `rows` of them
  std::int64_t rows = -1;  // the last rows, or those around the chosen row; negative: all
  std::vector<std::int64_t> cell_keys = {};  // details for each (query, key) of queries x cell_keys
  std::vector<std::int64_t> columns = {};    // keys; their queries are listed
  std::int64_t next = 6;                     // number of next words
  std::vector<HeadScores> scores = {};       // of every head, if already known
  std::function<void()> layer_scored = {};   // called after each layer's heads
};

/// Everything that one look shows.
struct Look {
  std::string model;
  bool built_in = false;
  ModelInfo info;
  std::vector<SessionToken> tokens;      // the queries' tokens
  std::vector<SessionToken> key_tokens;  // the keys' tokens, if different; else empty
  std::optional<std::int64_t> split;     // for a pair: index of the second text's first token
  ChosenHead chosen;
  /// The first token of each unit, which identifies it in `rows`; empty: the rows are tokens.
  std::vector<std::int64_t> units = {};
  std::vector<LookRow> rows;
  std::int64_t hidden_rows = 0;  // rows omitted because of LookRequest::rows
  std::vector<LookColumn> columns;
  std::vector<LookCell> cells;
  std::vector<HeadScores> heads;
  NextWords next;
  std::vector<FilledMask> filled = {};
  const std::vector<SessionToken>& keys() const { return key_tokens.empty() ? tokens : key_tokens; }
};

Look look(const Session& session, const LookRequest& request);

/// The `top` largest weights of rows (all rows if `queries` is empty; top < 0: every visible key).
std::vector<LookRow> look_rows(const LayerAttention& layer, int head,
                               std::span<const std::int64_t> queries, std::int64_t top);

/// The `top` largest weights on a key (top < 0: from every query that sees it).
LookColumn look_column(const LayerAttention& layer, int head, std::int64_t key, std::int64_t top);

LookCell look_cell(const LayerAttention& layer, int head, std::int64_t query, std::int64_t key);

/// Calls `use(head, query, weights)` for each row of the layer in the order (head, query); masked
/// keys are 0. Memory: a few hundred rows.
using UseRow =
    std::function<void(std::int64_t head, std::int64_t query, std::span<const float> weights)>;
void visit_rows(const LayerAttention& layer, std::optional<int> head, const UseRow& use);

/// The tokens that `word` names: tokens whose text without spaces is the word; else the last token
/// of each run of tokens that spells it; else the token with this index. If there is none, the
/// error lists the nearest words of the text.
std::vector<std::int64_t> find_word(std::span<const SessionToken> tokens, const std::string& word);

}  // namespace heed
