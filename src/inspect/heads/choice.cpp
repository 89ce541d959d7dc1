// Chooses the head, and its edge, to show when the user names none, and explains the choice.
//
// A head is chosen by content, not by position: (1 - local)^2 x the mean worth of its edges. On 40
// texts that were lengthened by four random tokens, elsewhere x (1 - local)^2 chose heads whose
// edges kept .53 of their weight and lost 1 of 40; elsewhere alone kept .21 and lost 27. But
// elsewhere is also large for a head whose rows all look at one word (in "Tom went home. His mother
// ..." 79 of 100 rows at `Tom`), so an edge is now worth the amount by which its weight exceeds the
// other rows' weights on the same key.
#include "inspect/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "heed/look.h"
#include "heed/session.h"
#include "inspect/heads/edges.h"
#include "inspect/heads/scored_layer.h"
#include "inspect/rows/words.h"
#include "inspect/session/places.h"

namespace heed {
namespace {

constexpr double kInduction = 0.3;              // from this share on it counts as an induction head
constexpr std::int64_t kMostSpreadRows = 1024;  // for longer texts, rows spread over the text

using Candidates = std::vector<const HeadScores*>;
using RowList = std::vector<std::int64_t>;

double or_zero(double score) { return std::isnan(score) ? 0 : score; }

// How far a head looks beyond its neighbours: 0 for one that looks only at them.
double far_score(const HeadScores& head) {
  const double far = 1 - or_zero(head.of("local"));
  return far * far;
}

double elsewhere_score(const HeadScores& head) {
  return or_zero(head.of("elsewhere")) * far_score(head);
}

class Chooser {
 public:
  Chooser(const Session& session, Stack stack, std::span<const std::int64_t> asked);

  ChosenHead choose(const Candidates& candidates, const ChoiceWords& words) const;
  // The strongest edge by content and distance.
  std::optional<Edge> strongest_of(const Place& place) const;

 private:
  struct Found {
    const HeadScores* head = nullptr;
    Edge edge;
    double score = 0;
  };

  std::vector<Edge> edges(const Place& place, const Worth& worth) const {
    return edges_of(session_.at(place), place.head, rows_, worth);
  }
  std::vector<Edge> far_edges(const Place& place) const;
  double far(std::int64_t query, std::int64_t key) const;
  Worth repeated() const;
  Worth linking(bool back) const;
  std::optional<Found> links(const Candidates& candidates) const;
  double picked_part(const std::vector<Edge>& edges, bool back) const;
  std::optional<Found> repeats(const Candidates& candidates) const;
  std::optional<Found> from_rows(const Candidates& candidates) const;
  ChosenHead by_content(const Candidates& candidates, const ChoiceWords& words) const;
  ChosenHead without_edge(const Candidates& candidates, const ChoiceWords& words) const;
  ChosenHead chosen(const Found& found, std::string reason) const;
  static Edge in_units(const Found& found, const ChoiceWords& words) {
    return words.in_units(found.head->place, found.edge);
  }
  void silence_cells();
  void take_rows(std::span<const std::int64_t> asked);

  const Session& session_;
  const bool is_cross_;
  const std::int64_t split_;  // for a pair
  std::span<const SessionToken> queries_, keys_;
  std::vector<double> of_queries_, of_keys_;  // content
  bool is_masked_ = false;                    // the rows are the gaps of a masked text
  bool is_narrowed_ = false;                  // the rows were requested, or are gaps
  bool is_between_ = false;                   // an edge goes from one text to another
  RowList rows_;
  RowList spread_;  // rows spread over the text, including those of rows_
};

std::vector<double> content_of(const Session& session, std::span<const SessionToken> tokens,
                               FirstWord first) {
  const bool is_own = tokens.data() == session.tokens.data();
  return content_of(tokens, is_own ? session.tokenizer : session.source_tokenizer, first);
}

// `count` places spread over a text, or all.
RowList spread_over(std::int64_t length, std::int64_t count) {
  RowList rows;
  for (std::int64_t at = 0; at < std::min(length, count); ++at)
    rows.push_back(length <= count ? at : at * length / count);
  return rows;
}

Chooser::Chooser(const Session& session, Stack stack, std::span<const std::int64_t> asked)
    : session_(session),
      is_cross_(stack == Stack::kCross),
      split_(session.split.value_or(0)),
      queries_(session.queries(stack)),
      keys_(session.keys(stack)),
      of_queries_(content_of(session, queries_, FirstWord::kWhole)) {
  if (is_cross_ && session.info.reads_source()) {  // a row counts as the word that it generates
    of_queries_.erase(of_queries_.begin());
    of_queries_.push_back(0);
  }
  silence_cells();
  const bool has_sink = session.at(stack).shape.causal && !is_cross_;
  of_keys_ = content_of(session, keys_, has_sink ? FirstWord::kHalf : FirstWord::kWhole);
  if (has_sink) of_keys_.front() = 0;  // often the sink
  take_rows(asked);
  is_between_ = is_cross_ || (session.split && !is_masked_);
}

// Rows of an image are chosen only where no other token has content.
void Chooser::silence_cells() {
  std::vector<double> words = of_queries_;
  for (std::size_t at = 0; at < words.size(); ++at)
    if (queries_[at].of_image) words[at] = 0;
  if (std::ranges::any_of(words, [](double each) { return each > 0; })) of_queries_ = words;
}

void Chooser::take_rows(std::span<const std::int64_t> asked) {
  rows_ = {asked.begin(), asked.end()};
  if (rows_.empty() && queries_.data() == session_.tokens.data() && !is_cross_) {
    rows_ = mask_places(session_);
    is_masked_ = !rows_.empty();
  }
  is_narrowed_ = !rows_.empty();
  const auto says = [&](std::int64_t row) {
    return of_queries_[static_cast<std::size_t>(row)] > 0;
  };
  if (is_narrowed_ && std::ranges::none_of(rows_, says))
    for (const std::int64_t row : rows_) of_queries_[static_cast<std::size_t>(row)] = 1;
  const RowList spread = spread_over(std::ssize(queries_), kMostSpreadRows);
  if (!is_narrowed_) rows_ = spread;
  std::ranges::sort(rows_);
  std::ranges::set_union(rows_, spread, std::back_inserter(spread_));
}

// The edges of rows_; how much a key is attended to is counted over the whole text.
std::vector<Edge> Chooser::far_edges(const Place& place) const {
  const auto worth = [&](std::int64_t query, std::int64_t key) {
    return std::ranges::binary_search(rows_, query) ? far(query, key) : 0;
  };
  return own_edges_of(session_.at(place), place.head, spread_, worth);
}

double Chooser::far(std::int64_t query, std::int64_t key) const {
  return of_queries_[static_cast<std::size_t>(query)] * of_keys_[static_cast<std::size_t>(key)] *
         std::log2(1.0 + static_cast<double>(std::abs(query - key)));
}

// Edges whose key followed the same token before. The row is a whole word, if the text has any.
Worth Chooser::repeated() const {
  return [this, most = std::ranges::max(of_queries_)](std::int64_t query, std::int64_t key) {
    const auto at = [&](std::int64_t token) -> const std::string& {
      return queries_[static_cast<std::size_t>(token)].bytes;
    };
    const bool repeats = key > 0 && key < query && at(key - 1) == at(query) &&
                         of_queries_[static_cast<std::size_t>(query)] == most;
    return repeats ? far(query, key) : 0;
  };
}

// Edges from one side to the other; for a pair, `back` means from the second to the first.
Worth Chooser::linking(bool back) const {
  return [this, back](std::int64_t query, std::int64_t key) {
    const bool links = is_cross_ || ((query >= split_) == back && (key >= split_) != back);
    return links ? of_queries_[static_cast<std::size_t>(query)] *
                       of_keys_[static_cast<std::size_t>(key)]
                 : 0;
  };
}

// The head that picks the other side's words most sharply. A mean over rows would be as large for a
// head that always looks at one word, and the other side's share for a head that looks at all of
// it.
std::optional<Chooser::Found> Chooser::links(const Candidates& candidates) const {
  std::optional<Found> best;
  for (const HeadScores* head : candidates)
    for (const bool back : {false, true}) {
      if (is_cross_ && back) continue;
      const std::vector<Edge> found = edges(head->place, linking(back));
      const auto edge = strongest(found);
      const double score = edge ? picked_part(found, back) : 0;
      if (edge && score > (best ? best->score : 0)) best = {head, *edge, score};
    }
  return best;
}

// The part of the other side's content that edges pick; a word counts by its largest edge.
double Chooser::picked_part(const std::vector<Edge>& edges, bool back) const {
  std::vector<double> picked(of_keys_.size(), 0);
  for (const Edge& edge : edges) {
    double& most = picked[static_cast<std::size_t>(edge.key)];
    most = std::max(most, edge.value);
  }
  const auto begin = of_keys_.begin() + (is_cross_ || back ? 0 : split_);
  const auto end = is_cross_ || !back ? of_keys_.end() : of_keys_.begin() + split_;
  return std::accumulate(picked.begin(), picked.end(), 0.0) / std::accumulate(begin, end, 0.0);
}

std::optional<Chooser::Found> Chooser::repeats(const Candidates& candidates) const {
  std::optional<Found> best;
  for (const HeadScores* head : candidates) {
    const double share = or_zero(head->of("induction"));
    if (share < kInduction) continue;
    const auto edge = strongest(edges(head->place, repeated()));
    if (edge && edge->value > (best ? best->edge.value : 0)) best = {head, *edge, share};
  }
  return best;
}

// Uses the strongest edge instead of the mean over all rows. Every word that a row attends to makes
// an edge, and its whole weight counts: in 126 rows of 55 sentences for tales and masks, the chosen
// head's strongest edge goes to an expected word in 57. With only the largest weight of a row,
// minus that of the other rows, it was 44: an edge to the sink hides a pronoun's noun.
std::optional<Chooser::Found> Chooser::from_rows(const Candidates& candidates) const {
  std::optional<Found> best;
  for (const HeadScores* head : candidates) {
    const auto worth = [&](std::int64_t query, std::int64_t key) { return far(query, key); };
    const auto edge =
        strongest(best_edges_of(session_.at(head->place), head->place.head, rows_, worth));
    if (!edge) continue;
    const double score = far_score(*head) * edge->value;
    if (score > (best ? best->score : 0)) best = {head, *edge, score};
  }
  return best;
}

ChosenHead Chooser::chosen(const Found& found, std::string reason) const {
  const Place& place = found.head->place;
  return {.stack = place.stack,
          .layer = place.layer,
          .head = place.head,
          .query = found.edge.query,
          .key = found.edge.key,
          .reason = std::move(reason),
          .score = found.score};
}

// The edges beyond the nearest words, or all edges if there are none.
std::vector<Edge> without_neighbours(const std::vector<Edge>& edges) {
  std::vector<Edge> far;
  std::ranges::copy_if(edges, std::back_inserter(far),
                       [](const Edge& edge) { return !is_beside(edge.query, edge.key); });
  return far.empty() ? edges : far;
}

// The head whose edges between words are worth most in the mean over rows; if none goes beyond the
// nearest words, the first one with an edge; without any, the best head at its last word.
ChosenHead Chooser::by_content(const Candidates& candidates, const ChoiceWords& words) const {
  std::optional<Found> best;
  for (const HeadScores* head : candidates) {
    const std::vector<Edge> found = without_neighbours(far_edges(head->place));
    const std::optional<Edge> edge = strongest(found);
    if (!edge) continue;
    double sum = 0;
    if (!is_cross_ && !is_beside(edge->query, edge->key))
      for (const Edge& each : found) sum += each.value;
    const double score = far_score(*head) * sum / static_cast<double>(rows_.size());
    if (!best || score > best->score) best = {head, *edge, score};
  }
  if (best) return chosen(*best, words.of_content(in_units(*best, words), best->score));
  return without_edge(candidates, words);
}

ChosenHead Chooser::without_edge(const Candidates& candidates, const ChoiceWords& words) const {
  const auto score = [&](const HeadScores* head) { return is_cross_ ? 0 : elsewhere_score(*head); };
  const HeadScores* const best = *std::ranges::max_element(candidates, {}, score);
  ChosenHead found =
      chosen({best, {.query = rows_.back()}, score(best)}, words.of_content({}, score(best)));
  for (const std::int64_t row : rows_)
    if (of_queries_[static_cast<std::size_t>(row)] > 0) found.query = row;
  found.key.reset();
  return found;
}

ChosenHead Chooser::choose(const Candidates& candidates, const ChoiceWords& words) const {
  if (is_between_)
    if (const auto found = links(candidates))
      return chosen(*found, words.of_link(in_units(*found, words)));
  if (is_cross_) return by_content(candidates, words);
  if (!is_masked_)  // several gaps are no repeated word
    if (const auto found = repeats(candidates))
      return chosen(*found, words.of_induction(in_units(*found, words)));
  if (is_narrowed_)
    if (const auto found = from_rows(candidates))
      return chosen(*found, words.of_row(in_units(*found, words), is_masked_));
  return by_content(candidates, words);
}

std::optional<Edge> Chooser::strongest_of(const Place& place) const {
  return strongest(is_cross_ ? edges(place, linking(false)) : far_edges(place));
}

const StackShape& checked(const Session& session, std::optional<Stack> asked,
                          std::optional<int> layer, std::optional<int> head) {
  const StackShape& stack = session.at(asked.value_or(session.stacks.at(0).shape.stack)).shape;
  if (layer) check_layer("look", session.model, stack, *layer);
  if (layer) session.require_kept("look", stack, *layer);
  if (head) check_head("look", session.model, stack, *head);
  return stack;
}

}  // namespace

ChosenHead choose_head(const Session& session, std::span<const HeadScores> scores,
                       std::optional<Stack> asked, std::optional<int> layer,
                       std::optional<int> head, std::span<const std::int64_t> queries,
                       ShownUnits shown) {
  const StackShape& stack = checked(session, asked, layer, head);
  if (layer && head)
    return {.stack = stack.stack, .layer = *layer, .head = *head, .reason = "asked for"};
  Candidates candidates;
  for (const HeadScores& each : scores) {
    const Place& place = each.place;
    if (place.stack == stack.stack && place.layer == layer.value_or(place.layer) &&
        place.head == head.value_or(place.head))
      candidates.push_back(&each);
  }
  if (candidates.empty())
    fail({.op = "look", .found = fmt::format("{} has no attention heads", session.model)});
  const Chooser chooser(session, stack.stack, queries);
  ChosenHead chosen =
      chooser.choose(candidates, {session, stack.stack, layer, head, std::move(shown)});
  chosen.automatic = true;
  return chosen;
}

ChosenHead at_strongest_edge(const Session& session, ChosenHead chosen) {
  const auto edge =
      Chooser(session, chosen.stack, {}).strongest_of({chosen.stack, chosen.layer, chosen.head});
  if (!edge) return chosen;
  chosen.query = edge->query;
  chosen.key = edge->key;
  return chosen;
}

}  // namespace heed
