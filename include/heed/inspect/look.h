// The answers that `heed look` shows: who attends to whom, what the heads do, the next word.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heed/inspect/heads.h"
#include "heed/inspect/session.h"
#include "heed/inspect/units.h"
#include "heed/text/tokenizer.h"

namespace heed {

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

/// A mask token of an encoder's text, and what may stand in its place.
struct FilledMask {
  std::int64_t at = 0;
  NextWords words;
};

/// The `top` largest probabilities after the last token; empty when the model has no word output.
NextWords next_words(const Session& session, std::int64_t top);

/// Where an encoder that fills masks reads [MASK] or <mask>.
std::vector<std::int64_t> mask_places(const Session& session);

/// The `top` largest probabilities at each of these; empty where the session did not keep the
/// logits of all positions.
std::vector<FilledMask> filled_masks(const Session& session, std::int64_t top);

struct LookKey {
  std::int64_t key = 0;
  float weight = 0;
};

/// The largest weights of one row, ties to the lower key, and what is left over.
struct LookRow {
  std::int64_t query = 0;
  double entropy = 0;  // nats
  std::vector<LookKey> attends = {};
  std::int64_t rest_count = 0;  // visible keys that are not listed
  double rest_weight = 0;
  std::optional<double> sink = {};  // the share that no token gets, where the model has a sink
};

struct LookQuery {
  std::int64_t query = 0;
  float weight = 0;
};

/// The largest weights on one key, ties to the lower query, and what is left over.
struct LookColumn {
  std::int64_t key = 0;
  double sum = 0;  // received from all queries
  std::vector<LookQuery> from = {};
  std::int64_t rest_count = 0;  // queries that see the key and are not listed
  double rest_weight = 0;
};

/// One weight with what it comes from: weight = e^(score - lse).
struct LookCell {
  std::int64_t query = 0;
  std::int64_t key = 0;
  bool visible = false;  // false: the mask hides the key from the query; the rest is 0
  double weight = 0;
  double score = 0;
  double lse = 0;
  std::int64_t rank = 0;                 // 1 = the largest of its row; ties to the lower key
  std::int64_t of = 0;                   // visible keys of the row
  std::vector<LookKey> others = {};      // the two largest other keys of the row
  double write_length = 0, carried = 0;  // |W_O v| of the key, or |v|; its part of the row's writes
};

/// Which head is shown, at which edge, and why.
struct ChosenHead {
  Stack stack = Stack::kSelf;
  int layer = 0;
  int head = 0;
  bool automatic = false;
  std::optional<std::int64_t> query = {}, key = {};  // the edge to show; no key: the row alone
  std::string reason = {};                           // a sentence
  double score = 0;                                  // what it was chosen by
};

/// The head of a stack (default: the first) that says most about the text, at its strongest edge
/// from word to word, by the rule of docs/look.md. It chooses among the heads that `layer` and
/// `head` leave free (ties to the lower layer, then head) and among the rows `queries` (empty: the
/// gaps of a masked text, else all). The error for a layer or head that does not exist has the
/// range.
ChosenHead choose_head(const Session& session, std::span<const HeadScores> scores,
                       std::optional<Stack> stack, std::optional<int> layer,
                       std::optional<int> head, std::span<const std::int64_t> queries = {});

/// The same head at its strongest edge, where it has one from word to word.
ChosenHead at_strongest_edge(const Session& session, ChosenHead chosen);

/// The head that gives one of queries x keys the largest weight, among the same.
ChosenHead choose_head_of_edge(const Session& session, std::span<const std::int64_t> queries,
                               std::span<const std::int64_t> keys, std::optional<Stack> stack,
                               std::optional<int> layer, std::optional<int> head);

/// The head that gives one of `keys` the largest weight from a token that is not next to them.
ChosenHead choose_head_of_keys(const Session& session, std::span<const std::int64_t> keys,
                               std::optional<Stack> stack, std::optional<int> layer,
                               std::optional<int> head);

/// What to look at.
struct LookRequest {
  std::optional<Stack> stack = {};
  std::optional<int> layer = {};  // without both the head is chosen: of an edge where queries
  std::optional<int> head = {};   // and cell_keys name some, else as choose_head says
  Unit unit = Unit::kToken;  // of rows and of the keys in them, where these are the same tokens
  std::int64_t top = 3;      // keys a row; below 0: every visible key
  std::vector<std::int64_t> queries = {};  // sorted; empty: every row, or `rows` of them
  std::int64_t rows = -1;  // the last ones, or those around the chosen row; below 0: all
  std::vector<std::int64_t> cell_keys = {};  // each (query, key) of queries x cell_keys in detail
  std::vector<std::int64_t> columns = {};    // keys: who attends to them
  std::int64_t next = 6;                     // next words
  std::vector<HeadScores> scores = {};       // of every head, where they are known already
  std::function<void()> layer_scored = {};   // called after each layer's heads
};

/// Everything that one look shows.
struct Look {
  std::string model;
  bool built_in = false;
  ModelInfo info;
  std::vector<SessionToken> tokens;      // of the queries
  std::vector<SessionToken> key_tokens;  // where the keys are other tokens; else empty
  std::optional<std::int64_t> split;     // of a pair: the first token of the second text
  ChosenHead chosen;
  /// The first tokens of the units in `rows`, which name these by them; empty: they are tokens.
  std::vector<std::int64_t> units = {};
  std::vector<LookRow> rows;
  std::int64_t hidden_rows = 0;  // rows that LookRequest::rows left out
  std::vector<LookColumn> columns;
  std::vector<LookCell> cells;
  std::vector<HeadScores> heads;
  NextWords next;
  std::vector<FilledMask> filled = {};
  const std::vector<SessionToken>& keys() const { return key_tokens.empty() ? tokens : key_tokens; }
};

Look look(const Session& session, const LookRequest& request);

/// The `top` largest weights of rows (all rows when `queries` is empty; top < 0: every visible
/// key).
std::vector<LookRow> look_rows(const LayerAttention& layer, int head,
                               std::span<const std::int64_t> queries, std::int64_t top);

/// The `top` largest weights on a key (top < 0: of every query that sees it).
LookColumn look_column(const LayerAttention& layer, int head, std::int64_t key, std::int64_t top);

LookCell look_cell(const LayerAttention& layer, int head, std::int64_t query, std::int64_t key);

/// Calls `use(head, query, weights)` for each row of the layer in the order (head, query); masked
/// keys are 0. Memory: some hundred rows.
using UseRow =
    std::function<void(std::int64_t head, std::int64_t query, std::span<const float> weights)>;
void visit_rows(const LayerAttention& layer, std::optional<int> head, const UseRow& use);

/// The tokens that `word` names: those whose text, trimmed of spaces, is the word; else the last
/// tokens of runs of tokens that spell it; else the token of which it is the index. Without any, an
/// error with the nearest words of the text.
std::vector<std::int64_t> find_word(std::span<const SessionToken> tokens, const std::string& word);

}  // namespace heed
