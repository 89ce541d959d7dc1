// Questions about a head's weights: rows, columns, arcs, margins, single cells.
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "inspect/answers/questions.h"
#include "inspect/map/cells.h"
#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr std::int64_t kLinesAtOnce = 64;  // bounds the memory of a window

RestAnswer rest_of(const Largest& largest) { return {largest.rest_count, largest.rest_weight}; }

std::vector<LookKey> keys_of(const Largest& largest) {
  std::vector<LookKey> keys;
  for (const Entry& entry : in_order(largest.entries)) keys.push_back({entry.at, entry.weight});
  return keys;
}

// The sum of several lines; an entry stays masked if all of them mask it.
class Folded {
 public:
  explicit Folded(std::int64_t length)
      : sums_(static_cast<std::size_t>(length)), visible_(static_cast<std::size_t>(length)) {}

  void add(std::int64_t at, float value) {
    if (std::isnan(value)) return;
    sums_[static_cast<std::size_t>(at)] += static_cast<double>(value);
    visible_[static_cast<std::size_t>(at)] = true;
  }

  std::vector<float> over(std::int64_t count) const {
    std::vector<float> line(sums_.size(), std::numeric_limits<float>::quiet_NaN());
    for (std::size_t at = 0; at < line.size(); ++at)
      if (visible_[at]) line[at] = static_cast<float>(sums_[at] / static_cast<double>(count));
    return line;
  }

 private:
  std::vector<double> sums_;
  std::vector<bool> visible_;
};

// Calls `use` for rectangles of at most 64 rows (or columns) that together cover the request.
void visit_cells(const LiveSession& session, const LineRequest& request, bool rows, Cancel& cancel,
                 auto use) {
  const std::shared_ptr<const LayerAttention> layer =
      session.layer_as(request.quantity, request.place, cancel);
  for (std::int64_t begin = request.begin; begin < request.end; begin += kLinesAtOnce) {
    const std::int64_t end = std::min(begin + kLinesAtOnce, request.end);
    CellsRequest cells{
        .head = request.place.head, .row_end = layer->queries(), .key_end = layer->keys()};
    (rows ? cells.row_begin : cells.key_begin) = begin;
    (rows ? cells.row_end : cells.key_end) = end;
    use(matrix_cells(*layer, cells, cancel));
  }
}

HeadEdgesAnswer edges_of(const LiveSession& session, const EdgesRequest& request, int head,
                         Cancel& cancel) {
  HeadEdgesAnswer answer{.head = head};
  const LineRequest lines{.place = {request.stack, request.layer, head},
                          .quantity = request.quantity,
                          .begin = request.begin,
                          .end = request.end};
  visit_cells(session, lines, true, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y) {
      const std::span<const float> row = cells.row(y);
      const Largest largest = largest_of(hidden_for_masked({row.begin(), row.end()}), request.rule);
      answer.rows.push_back({request.begin + std::ssize(answer.rows), largest.entropy,
                             keys_of(largest), rest_of(largest)});
    }
  });
  return answer;
}

}  // namespace

RowAnswer answer_row(const LiveSession& session, const LineRequest& request, Cancel& cancel) {
  Folded sum(session.size(request.place.stack).keys);
  visit_cells(session, request, true, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y)
      for (std::int64_t x = 0; x < cells.width; ++x) sum.add(x, cells.at(y, x));
  });
  const std::vector<float> weights = sum.over(request.end - request.begin);
  const Largest largest = largest_of(hidden_for_masked(weights), request.rule);
  return {.place = request.place,
          .query = request.begin,
          .end = request.end,
          .entropy = largest.entropy,
          .sum = largest.sum,
          .largest = largest.largest,
          .weights = {weights},
          .edges = keys_of(largest),
          .rest = rest_of(largest)};
}

ColumnAnswer answer_column(const LiveSession& session, const LineRequest& request, Cancel& cancel) {
  Folded sum(session.size(request.place.stack).queries);
  visit_cells(session, request, false, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y)
      for (std::int64_t x = 0; x < cells.width; ++x) sum.add(y, cells.at(y, x));
  });
  const std::vector<float> weights = sum.over(1);
  const Largest largest = largest_of(hidden_for_masked(weights), request.rule);
  ColumnAnswer answer{.place = request.place,
                      .key = request.begin,
                      .end = request.end,
                      .sum = largest.sum,
                      .largest = largest.largest,
                      .weights = {weights},
                      .rest = rest_of(largest)};
  for (const Entry& entry : in_order(largest.entries))
    answer.edges.push_back({entry.at, entry.weight});
  return answer;
}

EdgesAnswer answer_edges(const LiveSession& session, const EdgesRequest& request, Cancel& cancel) {
  EdgesAnswer answer{.stack = request.stack,
                     .layer = request.layer,
                     .top_p = request.rule.top_p.value_or(1),
                     .at_most = request.rule.at_most,
                     .begin = request.begin,
                     .end = request.end};
  for (const int head : request.heads)
    answer.heads.push_back(edges_of(session, request, head, cancel));
  return answer;
}

MarginalsAnswer answer_marginals(const Place& place, const Margins& margins) {
  return {place, margins.received, margins.keys_in_use, {margins.row_sum_error}};
}

CellAnswer answer_cell(const LiveSession& session, const Place& place, std::int64_t query,
                       std::int64_t key) {
  const SerialScope serial;
  return {place, look_cell(session.layer(place), place.head, query, key)};
}

}  // namespace heed
