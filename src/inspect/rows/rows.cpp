#include "inspect/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/serial.h"
#include "inspect/answers/json_text.h"

namespace heed::server {
namespace {

constexpr std::int64_t kLinesAtOnce = 64;  // bounds the memory of a window

struct Arc {
  std::int64_t at = 0;
  float weight = 0;
};

struct Arcs {
  std::vector<Arc> arcs;  // by position
  std::int64_t rest_count = 0;
  double rest_weight = 0;
  double sum = 0;
  double entropy = 0;  // nats
  float largest = 0;
};

// Masked weights are NaN. The share of `top_p` is of the line's own sum.
Arcs arcs_of(std::span<const float> weights, const ArcRule& rule) {
  Arcs answer;
  std::vector<Arc> all;
  for (std::size_t at = 0; at < weights.size(); ++at) {
    if (std::isnan(weights[at])) continue;
    all.push_back({static_cast<std::int64_t>(at), weights[at]});
    const double weight = weights[at];
    answer.sum += weight;
    if (weight > 0) answer.entropy -= weight * std::log(weight);
    answer.largest = std::max(answer.largest, weights[at]);
  }
  const std::int64_t candidates = std::min(rule.at_most, std::ssize(all));
  std::ranges::partial_sort(all, all.begin() + candidates, [](const Arc& a, const Arc& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.at < b.at;
  });
  std::int64_t kept = 0;
  double mass = 0;
  while (kept < candidates && mass < rule.top_p * answer.sum)
    mass += all[static_cast<std::size_t>(kept++)].weight;
  answer.rest_count = std::ssize(all) - kept;
  answer.rest_weight = std::max(answer.sum - mass, 0.0);
  answer.arcs.assign(all.begin(), all.begin() + kept);
  std::ranges::sort(answer.arcs, {}, &Arc::at);
  return answer;
}

std::string arcs_json(const Arcs& arcs, const char* name) {
  return fmt::format(R"("edges":{},"rest":{{"count":{},"weight":{}}})",
                     json_list(arcs.arcs,
                               [&](const Arc& arc) {
                                 return fmt::format(R"({{"{}":{},"weight":{}}})", name, arc.at,
                                                    json_number(arc.weight));
                               }),
                     arcs.rest_count, json_number(arcs.rest_weight));
}

// The sum of the lines [begin, end), a few at a time; an entry that all of them mask stays masked.
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

// Calls `use` with the rectangles of at most 64 lines that make up the request.
template <typename Use>
void visit_lines(const LiveSession& session, const LineRequest& request, bool rows, Cancel& cancel,
                 Use use) {
  for (std::int64_t begin = request.begin; begin < request.end; begin += kLinesAtOnce) {
    const std::int64_t end = std::min(begin + kLinesAtOnce, request.end);
    use(matrix_cells(session.layer(request.layer),
                     {.head = request.head,
                      .row_begin = rows ? begin : 0,
                      .row_end = rows ? end : session.length(),
                      .key_begin = rows ? 0 : begin,
                      .key_end = rows ? session.length() : end},
                     cancel));
  }
}

std::string line_json(const LineRequest& request, const char* name, const Arcs& arcs) {
  return fmt::format(
      R"({{"stack":"self","layer":{},"head":{},"{}":{},"end":{},"sum":{},"largest":{},)",
      request.layer, request.head, name, request.begin, request.end, json_number(arcs.sum),
      json_number(arcs.largest));
}

}  // namespace

std::string row_json(const LiveSession& session, const LineRequest& request, Cancel& cancel) {
  Folded sum(session.length());
  visit_lines(session, request, true, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y)
      for (std::int64_t x = 0; x < cells.width; ++x) sum.add(x, cells.at(y, x));
  });
  const std::vector<float> weights = sum.over(request.end - request.begin);
  const Arcs arcs = arcs_of(weights, request.rule);
  return line_json(request, "query", arcs) +
         fmt::format(R"("entropy":{},"weights":{},{}}})", json_number(arcs.entropy),
                     json_numbers(weights), arcs_json(arcs, "key"));
}

std::string column_json(const LiveSession& session, const LineRequest& request, Cancel& cancel) {
  Folded sum(session.length());
  visit_lines(session, request, false, cancel, [&](const Cells& cells) {
    for (std::int64_t y = 0; y < cells.height; ++y)
      for (std::int64_t x = 0; x < cells.width; ++x) sum.add(y, cells.at(y, x));
  });
  const std::vector<float> weights = sum.over(1);
  const Arcs arcs = arcs_of(weights, request.rule);
  return line_json(request, "key", arcs) +
         fmt::format(R"("weights":{},{}}})", json_numbers(weights), arcs_json(arcs, "query"));
}

std::string edges_json(const LiveSession& session, const EdgesRequest& request, Cancel& cancel) {
  const auto row = [&](std::int64_t query, std::span<const float> weights) {
    const Arcs arcs = arcs_of(weights, request.rule);
    return fmt::format(R"({{"query":{},"entropy":{},{}}})", query, json_number(arcs.entropy),
                       arcs_json(arcs, "key"));
  };
  const auto head_rows = [&](std::int64_t head) {
    std::string rows;
    std::int64_t query = request.begin;
    visit_lines(session, {request.layer, head, request.begin, request.end, {}}, true, cancel,
                [&](const Cells& cells) {
                  for (std::int64_t y = 0; y < cells.height; ++y)
                    rows.append(rows.empty() ? "" : ",").append(row(query++, cells.row(y)));
                });
    return fmt::format(R"({{"head":{},"rows":[{}]}})", head, rows);
  };
  return fmt::format(
      R"({{"stack":"self","layer":{},"top_p":{},"at_most":{},"begin":{},"end":{},"heads":{}}})",
      request.layer, request.rule.top_p, request.rule.at_most, request.begin, request.end,
      json_list(request.heads, head_rows));
}

std::string marginals_json(int layer, std::int64_t head, const Margins& margins) {
  return fmt::format(
      R"({{"stack":"self","layer":{},"head":{},"received":{},"keys_in_use":{},"row_sum_error":{}}})",
      layer, head, json_numbers(margins.received), json_numbers(margins.keys_in_use),
      json_number(margins.row_sum_error));
}

std::string cell_json(const LiveSession& session, int layer, std::int64_t head, std::int64_t query,
                      std::int64_t key) {
  const SerialScope serial;
  const LookCell cell = look_cell(session.layer(layer), static_cast<int>(head), query, key);
  std::string json =
      fmt::format(R"({{"stack":"self","layer":{},"head":{},"query":{},"key":{},"visible":{},)",
                  layer, head, query, key, cell.visible);
  if (!cell.visible) return json + R"("weight":0})";
  json += fmt::format(
      R"("weight":{},"score":{},"lse":{},"rank":{},"of":{},"others":{}}})",
      json_number(static_cast<float>(cell.weight)), json_number(static_cast<float>(cell.score)),
      json_number(static_cast<float>(cell.lse)), cell.rank, cell.of,
      json_list(cell.others, [](const LookKey& other) {
        return fmt::format(R"({{"key":{},"weight":{}}})", other.key, json_number(other.weight));
      }));
  return json;
}

}  // namespace heed::server
