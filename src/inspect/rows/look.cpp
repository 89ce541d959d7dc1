#include "heed/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/sequences.h"
#include "inspect/choice.h"
#include "inspect/map/cells.h"
#include "inspect/rows/lines.h"
#include "inspect/session/carried.h"
#include "inspect/session/places.h"

namespace heed {
namespace {

// The requested rows; empty: every one.
std::vector<std::int64_t> shown_rows(const LookRequest& request, Look& answer) {
  const std::int64_t length = std::ssize(answer.tokens);
  if (!request.queries.empty() || request.rows < 0 || request.rows >= length)
    return request.queries;
  std::int64_t begin = length - request.rows;
  const std::int64_t chosen = answer.chosen.query.value_or(length);
  if (chosen < begin) begin = std::max<std::int64_t>(0, chosen - request.rows / 2);
  answer.hidden_rows = length - request.rows;
  return ascending(request.rows, begin);
}

// Empty for tokens, and between two texts.
std::vector<std::int64_t> shown_units(const Session& session, Stack stack, Unit unit) {
  const auto queries = session.queries(stack);
  if (unit == Unit::kToken || queries.data() != session.keys(stack).data()) return {};
  const bool is_source = queries.data() == session.key_tokens.data();
  const Tokenizer* tokenizer = is_source ? session.source_tokenizer : session.tokenizer;
  return token_units(queries, tokenizer).of(unit);
}

// Rows of tokens, or of units if queries and keys are the same tokens.
void fill_rows(const Session& session, const LayerAttention& layer, const LookRequest& request,
               Look& answer) {
  const int head = answer.chosen.head;
  const std::vector<std::int64_t> rows = shown_rows(request, answer);
  answer.units = shown_units(session, answer.chosen.stack, request.unit);
  answer.rows = answer.units.empty() ? look_rows(layer, head, rows, request.top)
                                     : look_unit_rows(layer, head, answer.units, rows, request.top);
  if (!layer.scores.sink.given()) return;
  for (LookRow& row : answer.rows) {
    double given = row.rest_weight;
    for (const LookKey& key : row.attends) given += double{key.weight};
    row.sink = std::max(0.0, 1 - given);
  }
}

}  // namespace

LookRow look_row(const RowView& row, std::int64_t top) {
  const Largest largest = largest_of(row.weights, {.at_most = top});
  LookRow answer{.query = row.query,
                 .entropy = largest.entropy,
                 .rest_count = largest.rest_count,
                 .rest_weight = largest.rest_weight};
  for (const Entry& entry : largest.entries) answer.attends.push_back({entry.at, entry.weight});
  return answer;
}

namespace {

// Keeps the largest weight of `head` between queries and keys, with its edge, if it is larger than
// before.
void keep_largest(const LayerAttention& layer, int head, std::span<const std::int64_t> queries,
                  std::span<const std::int64_t> keys, double& largest, ChosenHead& chosen) {
  visit_lines(layer, {.head = head, .rows = {queries.begin(), queries.end()}},
              [&](const RowView& row) {
                for (const std::int64_t key : keys) {
                  const float weight = row.weights[static_cast<std::size_t>(key)];
                  if (weight == kHiddenWeight || static_cast<double>(weight) <= largest) continue;
                  largest = static_cast<double>(weight);
                  chosen.query = row.query;
                  chosen.key = key;
                }
              });
}

// Among the requested layers and heads; `weight` is negative if none of them sees it.
std::string edge_reason(double weight, std::optional<int> layer, std::optional<int> head) {
  if (layer && head) return "asked for";
  if (weight >= 0)
    return fmt::format("it gives this edge the largest weight, {}", edge_weight(weight));
  return layer  ? fmt::format("no head of layer {} can see it", *layer)
         : head ? fmt::format("head {} of no layer can see it", *head)
                : "no head can see it";
}

}  // namespace

ChosenHead choose_head_of_edge(const Session& session, std::span<const std::int64_t> queries,
                               std::span<const std::int64_t> keys, std::optional<Stack> asked,
                               std::optional<int> layer, std::optional<int> head) {
  const SessionStack& stack = session.at(asked.value_or(session.stacks.at(0).shape.stack));
  if (layer) check_layer("look", session.model, stack.shape, *layer);
  if (layer) session.require_kept("look", stack.shape, *layer);
  if (head) check_head("look", session.model, stack.shape, *head);
  ChosenHead chosen{
      .stack = stack.shape.stack,
      .layer = layer.value_or(stack.shape.attending.empty() ? 0 : stack.shape.attending[0]),
      .head = head.value_or(0),
      .automatic = !(layer && head)};
  double largest = -1;
  for (int at = 0; at < stack.shape.layers; ++at)
    for (int one = 0; one < stack.shape.heads; ++one) {
      if (!session.keeps(stack.shape, at)) continue;
      if ((layer && at != *layer) || (head && one != *head)) continue;
      const double before = largest;
      keep_largest(stack.layers[static_cast<std::size_t>(at)], one, queries, keys, largest, chosen);
      if (largest <= before) continue;
      chosen.layer = at;
      chosen.head = one;
    }
  chosen.score = std::max(0.0, largest);
  chosen.reason = edge_reason(largest, layer, head);
  return chosen;
}

std::vector<LookRow> look_rows(const LayerAttention& layer, int head,
                               std::span<const std::int64_t> queries, std::int64_t top) {
  std::vector<LookRow> answer;
  visit_lines(layer, {.head = head, .rows = {queries.begin(), queries.end()}},
              [&](const RowView& row) { answer.push_back(look_row(row, top)); });
  return answer;
}

LookColumn look_column(const LayerAttention& layer, int head, std::int64_t key, std::int64_t top) {
  Cancel never;
  const Cells cells = matrix_cells(layer,
                                   {.head = head,
                                    .row_begin = 0,
                                    .row_end = layer.queries(),
                                    .key_begin = key,
                                    .key_end = key + 1},
                                   never);
  const Largest largest = largest_of(hidden_for_masked(cells.values), {.at_most = top});
  LookColumn column{.key = key,
                    .sum = largest.sum,
                    .rest_count = largest.rest_count,
                    .rest_weight = largest.rest_weight};
  for (const Entry& entry : largest.entries) column.from.push_back({entry.at, entry.weight});
  return column;
}

namespace {

// The weight's part of everything that the row writes.
void weigh_write(const LayerAttention& layer, int head, std::span<const float> weights,
                 LookCell& cell) {
  const Tensor lengths = lengths_carried(layer);
  const float* const of_keys = lengths.data<float>() + head * lengths.dim(1);
  double sum = 0;
  for (std::size_t key = 0; key < weights.size(); ++key)
    if (weights[key] != kHiddenWeight)
      sum += static_cast<double>(weights[key]) * static_cast<double>(of_keys[key]);
  cell.write_length = static_cast<double>(of_keys[cell.key]);
  cell.carried = sum > 0 ? cell.weight * cell.write_length / sum : 0;
}

}  // namespace

LookCell look_cell(const LayerAttention& layer, int head, std::int64_t query, std::int64_t key) {
  LookCell cell{.query = query, .key = key};
  visit_lines(layer, {.head = head, .rows = {query}, .scores = true}, [&](const RowView& row) {
    const auto at = static_cast<std::size_t>(key);
    const Largest ranked = largest_of(row.weights, {.at_most = 3});
    cell.of = ranked.visible;
    cell.visible = row.weights[at] != kHiddenWeight;
    if (!cell.visible) return;
    cell.weight = row.weights[at];
    cell.score = row.scores[at];
    cell.rank = rank_of(row.weights, key);
    for (const Entry& other : ranked.entries)
      if (other.at != key && cell.others.size() < 2)
        cell.others.push_back({other.at, other.weight});
    weigh_write(layer, head, row.weights, cell);
  });
  const std::int64_t at = head * layer.lse.dim(2) + query;
  cell.lse = layer.lse.data<float>()[at];
  return cell;
}

namespace {

// The tokens that may attend to one of these keys, without the keys and their neighbours, to which
// some head always attends.
std::vector<std::int64_t> distant_queries(const Session& session, Stack stack,
                                          std::span<const std::int64_t> keys) {
  const auto queries = session.queries(stack);
  const bool same = queries.data() == session.keys(stack).data();
  std::vector<std::int64_t> others;
  for (std::int64_t query = 0; query < std::ssize(queries); ++query)
    if (!same || std::ranges::all_of(keys, [&](auto key) { return std::abs(query - key) > 1; }))
      others.push_back(query);
  return others;
}

}  // namespace

ChosenHead choose_head_of_keys(const Session& session, std::span<const std::int64_t> keys,
                               std::optional<Stack> asked, std::optional<int> layer,
                               std::optional<int> head) {
  const Stack stack = asked.value_or(session.stacks.at(0).shape.stack);
  ChosenHead chosen =
      choose_head_of_edge(session, distant_queries(session, stack, keys), keys, stack, layer, head);
  if (!chosen.automatic) return chosen;
  const bool same = session.queries(stack).data() == session.keys(stack).data();
  if (chosen.score > 0)
    chosen.reason = fmt::format("it gives this word the largest weight{}",
                                same ? " from a token not next to it" : "");
  else
    chosen.reason =
        fmt::format("no token{} can attend to this word", same ? " beyond its neighbours" : "");
  return chosen;
}

namespace {

// A reason names words and characters as the rows show them. A sentence is too long for it, and
// most edges stay within one: there it names tokens.
ShownUnits named_units(const Session& session, const LookRequest& request) {
  if (request.unit == Unit::kSentence) return {};
  const Stack stack = request.stack.value_or(session.stacks.at(0).shape.stack);
  return {request.unit, shown_units(session, stack, request.unit)};
}

ChosenHead chosen_head(const Session& session, const LookRequest& request,
                       std::span<const HeadScores> heads) {
  if (!request.columns.empty())
    return choose_head_of_keys(session, request.columns, request.stack, request.layer,
                               request.head);
  if (request.queries.empty() || request.cell_keys.empty())
    return choose_head(session, heads, request.stack, request.layer, request.head, request.queries,
                       named_units(session, request));
  return choose_head_of_edge(session, request.queries, request.cell_keys, request.stack,
                             request.layer, request.head);
}

}  // namespace

Look look(const Session& session, const LookRequest& request) {
  Look answer{
      .model = session.model,
      .built_in = session.built_in,
      .info = session.info,
      .tokens = {},
      .key_tokens = {},
      .split = session.split,
      .chosen = {},
      .rows = {},
      .columns = {},
      .cells = {},
      .heads = request.scores.empty() ? score_heads(session, request.layer_scored) : request.scores,
      .next = {}};
  answer.filled = filled_masks(session, request.next);
  answer.chosen = chosen_head(session, request, answer.heads);
  if (answer.chosen.stack != Stack::kEncoder) answer.next = next_words(session, request.next);
  const auto queries = session.queries(answer.chosen.stack);
  const auto keys = session.keys(answer.chosen.stack);
  answer.tokens = {queries.begin(), queries.end()};
  if (keys.data() != queries.data()) answer.key_tokens = {keys.begin(), keys.end()};
  const int head = answer.chosen.head;
  const LayerAttention& layer = session.at({answer.chosen.stack, answer.chosen.layer, head});
  fill_rows(session, layer, request, answer);
  for (const std::int64_t key : request.columns)
    answer.columns.push_back(look_column(layer, head, key, request.top));
  for (const std::int64_t query : request.queries)
    for (const std::int64_t key : request.cell_keys)
      answer.cells.push_back(look_cell(layer, head, query, key));
  return answer;
}

void visit_rows(const LayerAttention& layer, std::optional<int> head, const UseRow& use) {
  for (int one = head.value_or(0); one < (head ? *head + 1 : layer.q.dim(1)); ++one)
    visit_lines(layer, {.head = one, .hidden = 0},
                [&](const RowView& row) { use(row.head, row.query, row.weights); });
}

}  // namespace heed
