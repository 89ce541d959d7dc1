#include "inspect/heads/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/wording.h"
#include "heed/tokenizer.h"
#include "inspect/rows/lines.h"
#include "inspect/rows/words.h"

namespace heed {
namespace {

constexpr double kLeastPart = 0.1;  // of a weight on a key that all rows attend to

// The weights on one key, except from the row itself and its neighbours.
struct Received {
  double sum = 0;
  std::int64_t rows = 0;
};

// NaN counts as 0: a row of NaN links nothing.
Edge largest_of_row(const RowView& row) {
  const auto or_zero = [](float weight) { return std::isnan(weight) ? 0 : weight; };
  const auto largest = std::ranges::max_element(row.weights, {}, or_zero);
  return {row.query, std::distance(row.weights.begin(), largest),
          static_cast<double>(or_zero(*largest))};
}

void receive(const RowView& row, std::vector<Received>& keys) {
  keys.resize(row.weights.size());
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const float weight = row.weights[key];
    if (weight == kHiddenWeight || std::isnan(weight)) continue;
    if (is_beside(row.query, static_cast<std::int64_t>(key))) continue;
    keys[key].sum += static_cast<double>(weight);
    ++keys[key].rows;
  }
}

// The part of the edge's weight that other rows do not give the key.
double own_weight(const Edge& edge, Received key) {
  if (!is_beside(edge.query, edge.key)) {
    key.sum -= edge.weight;
    --key.rows;
  }
  const double others = key.rows > 0 ? key.sum / static_cast<double>(key.rows) : 0;
  return std::max(edge.weight - others, kLeastPart * edge.weight);
}

}  // namespace

bool is_beside(std::int64_t query, std::int64_t key) { return std::abs(query - key) <= 1; }

std::vector<Edge> edges_of(const LayerAttention& layer, int head,
                           const std::vector<std::int64_t>& rows, const Worth& worth) {
  std::vector<Edge> edges;
  visit_lines(layer, {.head = head, .rows = rows}, [&](const RowView& row) {
    Edge edge = largest_of_row(row);
    edge.value = edge.weight * worth(edge.query, edge.key);
    if (edge.value > 0) edges.push_back(edge);
  });
  return edges;
}

std::vector<Edge> own_edges_of(const LayerAttention& layer, int head,
                               const std::vector<std::int64_t>& rows, const Worth& worth) {
  std::vector<Edge> edges;
  std::vector<Received> keys;
  visit_lines(layer, {.head = head, .rows = rows}, [&](const RowView& row) {
    receive(row, keys);
    edges.push_back(largest_of_row(row));
  });
  for (Edge& edge : edges)
    edge.value =
        own_weight(edge, keys[static_cast<std::size_t>(edge.key)]) * worth(edge.query, edge.key);
  std::erase_if(edges, [](const Edge& edge) { return edge.value <= 0; });
  return edges;
}

std::vector<Edge> best_edges_of(const LayerAttention& layer, int head,
                                const std::vector<std::int64_t>& rows, const Worth& worth) {
  std::vector<Edge> edges;
  visit_lines(layer, {.head = head, .rows = rows}, [&](const RowView& row) {
    Edge best;
    for (std::int64_t key = 0; key < std::ssize(row.weights); ++key) {
      const auto weight = static_cast<double>(row.weights[static_cast<std::size_t>(key)]);
      const double value = weight > 0 ? weight * worth(row.query, key) : 0;
      if (value > best.value) best = {row.query, key, weight, value};
    }
    if (best.value > 0) edges.push_back(best);
  });
  return edges;
}

std::optional<Edge> strongest(const std::vector<Edge>& edges) {
  const auto best = std::ranges::max_element(edges, {}, &Edge::value);
  return best == edges.end() ? std::nullopt : std::optional(*best);
}

namespace {

std::string in_marks(const std::string& bytes) {
  const std::string text = displayable(bytes);
  const std::size_t begin = text.find_first_not_of(' ');
  return fmt::format("`{}`", begin == std::string::npos ? text : text.substr(begin));
}

}  // namespace

// `king`; for a piece of a word, the word
std::string ChoiceWords::named(std::span<const SessionToken> tokens, std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  if (!shown.firsts.empty()) {
    const std::size_t unit = unit_of_token(shown.firsts, index);
    std::string bytes;
    for (auto each = shown.firsts[unit]; each < unit_end(shown.firsts, unit, std::ssize(tokens));
         ++each)
      bytes += tokens[static_cast<std::size_t>(each)].bytes;
    return in_marks(bytes);
  }
  const std::string word = pieces_of_words(tokens)[at].word;
  return word.empty() ? in_marks(tokens[at].bytes) : fmt::format("`{}`", displayable(word));
}

Edge ChoiceWords::in_units(const Place& place, Edge edge) const {
  if (shown.firsts.empty()) return edge;
  const auto rows = look_unit_rows(session.at(place), place.head, shown.firsts, {{edge.query}}, -1);
  const std::int64_t first = shown.firsts[unit_of_token(shown.firsts, edge.key)];
  for (const LookKey& key : rows.at(0).attends)
    if (key.key == first) edge.weight = static_cast<double>(key.weight);
  return edge;
}

std::string ChoiceWords::query(std::int64_t index) const {
  return named(session.queries(stack), index);
}

std::string ChoiceWords::key(std::int64_t index) const { return named(session.keys(stack), index); }

// `4 tokens`; 0 within a unit
std::string ChoiceWords::distance(const Edge& edge) const {
  if (shown.firsts.empty()) return number_of(std::abs(edge.query - edge.key), "token");
  const auto unit = [&](std::int64_t token) {
    return static_cast<std::int64_t>(unit_of_token(shown.firsts, token));
  };
  return number_of(std::abs(unit(edge.query) - unit(edge.key)), unit_name(shown.unit));
}

std::string ChoiceWords::seen(const Edge& edge) const {
  const std::string far = distance(edge);
  if (far.starts_with("0 ")) return fmt::format("looks at itself ({})", hundredths(edge.weight));
  return fmt::format("looks {} {} to {} ({})", edge.key > edge.query ? "ahead" : "back", far,
                     key(edge.key), hundredths(edge.weight));
}

std::string ChoiceWords::than_any_other() const {
  return head    ? fmt::format("than head {} of any other layer", *head)
         : layer ? fmt::format("than any other of layer {}", *layer)
                 : "than any other";
}

std::string ChoiceWords::of_induction(const Edge& edge) const {
  return fmt::format("{} {}, the word that followed the earlier {}: an induction head",
                     query(edge.query), seen(edge), query(edge.query));
}

std::string ChoiceWords::of_link(const Edge& edge) const {
  const std::string weight = hundredths(edge.weight);
  if (stack != Stack::kCross) {
    const bool back = edge.query >= session.split.value_or(0);
    return fmt::format(
        "{} of the {} text looks at {} of the {} ({}): this head links words of the two texts more "
        "{}",
        query(edge.query), back ? "second" : "first", key(edge.key), back ? "first" : "second",
        weight, than_any_other());
  }
  const bool writes = session.info.reads_source();
  const std::string who =
      writes ? fmt::format("to write {}, the decoder", query(edge.query + 1)) : query(edge.query);
  return fmt::format("{} looks at {} ({}): this head picks out words of the source more {}", who,
                     key(edge.key), weight, than_any_other());
}

std::string ChoiceWords::of_row(const Edge& edge, bool is_gap) const {
  return fmt::format("{}{} {}: from here this head links {} more strongly {}",
                     is_gap ? "the gap " : "", query(edge.query), seen(edge),
                     is_beside(edge.query, edge.key) ? "words" : "distant words", than_any_other());
}

std::string ChoiceWords::of_content(const std::optional<Edge>& edge, double score) const {
  std::string why = fmt::format("this head links distant words more strongly {}", than_any_other());
  if (score == 0)
    why = stack == Stack::kCross ? "the first head, as none looks hardest at a word of the source"
          : edge                 ? "the first head that links words, as none links distant ones"
                                 : "the first head, as none links distant words";
  return edge ? fmt::format("{} {}: {}", query(edge->query), seen(*edge), why) : why;
}

}  // namespace heed
