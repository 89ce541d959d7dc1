#include "heed/inspect/look.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "heed/base/error.h"
#include "heed/ops/observe.h"
#include "inspect/rows/row_blocks.h"

namespace heed {
namespace {

void sweep(const LayerAttention& layer, RowBlocks::Wanted wanted,
           std::function<void(const RowView&)> use) {
  std::ranges::sort(wanted.rows);
  RowBlocks rows(std::move(wanted), std::move(use));
  Observer* const observers[] = {&rows};
  observe(layer.args(), layer.attended(), observers);
}

// Larger first, ties to the lower key; a weight that is not a number comes first, to be seen.
bool before(const LookKey& a, const LookKey& b) {
  const bool a_nan = std::isnan(a.weight);
  const bool b_nan = std::isnan(b.weight);
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && a.weight != b.weight) return a.weight > b.weight;
  return a.key < b.key;
}

LookRow row_of(const RowView& row, std::int64_t top) {
  LookRow answer{.query = row.query};
  std::vector<LookKey> keys;
  for (std::size_t key = 0; key < row.weights.size(); ++key) {
    const float weight = row.weights[key];
    if (weight == kHidden) continue;
    keys.push_back({static_cast<std::int64_t>(key), weight});
    if (weight > 0) answer.entropy -= weight * std::log(static_cast<double>(weight));
  }
  const auto all = static_cast<std::int64_t>(keys.size());
  const std::int64_t kept = top < 0 ? all : std::min(top, all);
  std::ranges::partial_sort(keys, keys.begin() + kept, before);
  for (auto rest = keys.begin() + kept; rest != keys.end(); ++rest)
    answer.rest_weight += rest->weight;
  answer.rest_count = all - kept;
  keys.resize(static_cast<std::size_t>(kept));
  answer.attends = std::move(keys);
  return answer;
}

std::string reason(const ChosenHead& chosen) {
  if (!chosen.automatic) return "asked for";
  if (chosen.score == 0)
    return "the first one, because nothing tells the heads apart: all weight is on the first, the "
           "own or the previous token";
  return "the largest mean, over rows, of the largest weight on a key that is not the first, the "
         "own "
         "or the previous token";
}

std::vector<HeadScores> scored_heads(const Session& session, const LookRequest& request) {
  std::vector<HeadScores> scores;
  for (const LayerAttention& layer : session.layers) {
    const auto index = static_cast<int>(&layer - session.layers.data());
    std::ranges::copy(score_heads(layer, index), std::back_inserter(scores));
    if (request.layer_scored) request.layer_scored();
  }
  return scores;
}

}  // namespace

void check_layer(std::string_view model, const ModelInfo& info, int layer) {
  require(layer >= 0 && layer < info.layers, "look: layer {} does not exist, {} has layers 0 to {}",
          layer, model, info.layers - 1);
}

void check_head(std::string_view model, const ModelInfo& info, int head) {
  require(head >= 0 && head < info.heads, "look: head {} does not exist, {} has heads 0 to {}",
          head, model, info.heads - 1);
}

ChosenHead choose_head(const Session& session, std::span<const HeadScores> scores,
                       std::optional<int> layer, std::optional<int> head) {
  if (layer) check_layer(session.model, session.info, *layer);
  if (head) check_head(session.model, session.info, *head);
  const HeadScores* best = nullptr;
  for (const HeadScores& candidate : scores) {
    if ((layer && candidate.layer != *layer) || (head && candidate.head != *head)) continue;
    if (best == nullptr || candidate.elsewhere > best->elsewhere) best = &candidate;
  }
  require(best != nullptr, "look: {} has no attention heads", session.model);
  ChosenHead chosen{.layer = best->layer, .head = best->head, .score = best->elsewhere};
  chosen.automatic = !(layer && head);
  chosen.reason = reason(chosen);
  return chosen;
}

std::vector<LookRow> look_rows(const LayerAttention& layer, int head,
                               std::span<const std::int64_t> queries, std::int64_t top) {
  std::vector<LookRow> answer;
  sweep(layer, {.head = head, .rows = {queries.begin(), queries.end()}},
        [&](const RowView& row) { answer.push_back(row_of(row, top)); });
  return answer;
}

LookCell look_cell(const LayerAttention& layer, int head, std::int64_t query, std::int64_t key) {
  LookCell cell{.query = query, .key = key};
  sweep(layer, {.head = head, .rows = {query}}, [&](const RowView& row) {
    const auto at = static_cast<std::size_t>(key);
    const LookRow ranked = row_of(row, -1);
    cell.of = static_cast<std::int64_t>(ranked.attends.size());
    cell.visible = row.weights[at] != kHidden;
    if (!cell.visible) return;
    cell.weight = row.weights[at];
    cell.score = row.scores[at];
    const auto found = std::ranges::find(ranked.attends, key, &LookKey::key);
    cell.rank = found - ranked.attends.begin() + 1;
    for (const LookKey& other : ranked.attends)
      if (other.key != key && cell.others.size() < 2) cell.others.push_back(other);
  });
  const std::int64_t at = head * layer.lse.dim(2) + query;
  cell.lse = layer.lse.data<float>()[at];
  return cell;
}

NextWords next_words(const Session& session, std::int64_t top) {
  NextWords answer;
  if (!session.logits.given()) return answer;
  const std::int64_t vocabulary = session.logits.dim(1);
  const float* logits = session.logits.data<float>() + (session.logits.dim(0) - 1) * vocabulary;
  const double largest = *std::max_element(logits, logits + vocabulary);
  double sum = 0;
  for (std::int64_t id = 0; id < vocabulary; ++id) sum += std::exp(logits[id] - largest);
  std::vector<TokenId> ids(static_cast<std::size_t>(vocabulary));
  std::iota(ids.begin(), ids.end(), 0);
  const std::int64_t kept = std::min(top, vocabulary);
  std::ranges::partial_sort(ids, ids.begin() + kept, [&](TokenId a, TokenId b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  answer.rest_probability = 1;
  answer.rest_count = vocabulary - kept;
  for (std::int64_t i = 0; i < kept; ++i) {
    const TokenId id = ids[static_cast<std::size_t>(i)];
    const double probability = std::exp(logits[id] - largest) / sum;
    const Tokenizer* tokenizer = session.tokenizer;
    answer.words.push_back(
        {id, tokenizer != nullptr ? tokenizer->token_bytes(id) : std::to_string(id), probability});
    answer.rest_probability -= probability;
  }
  answer.rest_probability = std::max(answer.rest_probability, 0.0);
  return answer;
}

Look look(const Session& session, const LookRequest& request) {
  Look answer{.model = session.model,
              .built_in = session.built_in,
              .info = session.info,
              .tokens = session.tokens,
              .chosen = {},
              .rows = {},
              .cells = {},
              .heads = scored_heads(session, request),
              .next = next_words(session, request.next)};
  answer.chosen = choose_head(session, answer.heads, request.layer, request.head);
  const LayerAttention& layer = session.layers[static_cast<std::size_t>(answer.chosen.layer)];
  answer.rows = look_rows(layer, answer.chosen.head, request.queries, request.top);
  for (const std::int64_t query : request.queries)
    for (const std::int64_t key : request.cell_keys)
      answer.cells.push_back(look_cell(layer, answer.chosen.head, query, key));
  return answer;
}

void visit_rows(const LayerAttention& layer, std::optional<int> head, const UseRow& use) {
  RowBlocks::Wanted wanted;
  if (head) wanted.head = *head;
  std::vector<float> weights;
  sweep(layer, std::move(wanted), [&](const RowView& row) {
    weights.assign(row.weights.begin(), row.weights.end());
    std::ranges::replace(weights, kHidden, 0.0F);
    use(row.head, row.query, weights);
  });
}

}  // namespace heed
