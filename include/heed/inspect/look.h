// The answers that `heed look` shows: attention between tokens, what the heads do, the next word.
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

/// A mask token of an encoder's text, and the words that may fill it.
struct FilledMask {
  std::int64_t at = 0;
  NextWords words;
};

/// The `top` largest probabilities after the last token; empty if the model has no vocabulary
/// output.
NextWords next_words(const Session& session, std::int64_t top);

/// The positions of [MASK] or <mask> in the text of an encoder that fills masks.
std::vector<std::int64_t> mask_places(const Session& session);

/// The `top` largest probabilities at each of these positions; empty unless the session kept the
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

/// Chooses the head of a stack (default: the first) that says most about the text, at its strongest
/// edge from word to word, by the rule of docs/look.md. `layer` and `head` restrict the choice
/// (ties to the lower layer, then head), `queries` its rows (empty: the gaps of a masked text, else
/// all). The error for a layer or head that does not exist gives the range.
ChosenHead choose_head(const Session& session, std::span<const HeadScores> scores,
                       std::optional<Stack> stack, std::optional<int> layer,
                       std::optional<int> head, std::span<const std::int64_t> queries = {});

/// The same head at its strongest edge from word to word, if it has one.
ChosenHead at_strongest_edge(const Session& session, ChosenHead chosen);

/// The head with the largest weight between `queries` and `keys`, with the same restrictions.
ChosenHead choose_head_of_edge(const Session& session, std::span<const std::int64_t> queries,
                               std::span<const std::int64_t> keys, std::optional<Stack> stack,
                               std::optional<int> layer, std::optional<int> head);

/// The head with the largest weight on one of `keys` from a token that is not adjacent to it.
ChosenHead choose_head_of_keys(const Session& session, std::span<const std::int64_t> keys,
                               std::optional<Stack> stack, std::optional<int> layer,
                               std::optional<int> head);

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
