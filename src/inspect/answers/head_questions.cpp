// What is asked of heads beyond their scores on the text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "heed/error.h"
#include "inspect/answers/questions.h"
#include "inspect/map/cells.h"

namespace heed {
namespace {

// 64 rows cost as much as one; 8 blocks of 4,993 rows are a tenth of the work.
constexpr std::int64_t kRowsAtOnce = 64;
constexpr std::int64_t kMostBlocks = 8;

std::string heads_text(const LiveSession& session, Stack stack) {
  const std::vector<StackShape>& shapes = session.shapes();
  const auto found = std::ranges::find(shapes, stack, &StackShape::stack);
  if (found == shapes.end()) return fmt::format("no {}", stack_name(stack));
  const MatrixSize size = session.size(stack);
  return fmt::format("{} x {} heads, {} queries, {} keys", found->layers, found->heads,
                     size.queries, size.keys);
}

// The first rows of the blocks that are compared, evenly over the text.
std::vector<std::int64_t> block_begins(std::int64_t queries) {
  const std::int64_t all = (queries + kRowsAtOnce - 1) / kRowsAtOnce;
  const std::int64_t count = std::min(all, kMostBlocks);
  std::vector<std::int64_t> begins;
  for (std::int64_t at = 0; at < count; ++at)
    begins.push_back(kRowsAtOnce * (count == 1 ? 0 : at * (all - 1) / (count - 1)));
  return begins;
}

// A masked key has no weight.
double weight_moved(const Cells& a, const Cells& b) {
  double sum = 0;
  for (std::size_t at = 0; at < a.values.size(); ++at) {
    const double before = std::isnan(a.values[at]) ? 0 : a.values[at];
    const double after = std::isnan(b.values[at]) ? 0 : b.values[at];
    sum += std::abs(before - after) / 2;
  }
  return sum;
}

}  // namespace

LateScoresAnswer answer_late(LiveSession& session, const Place& place, ScoreFrom from,
                             Cancel& cancel) {
  return {place, session.late().values(place, from, cancel)};
}

EvidenceAnswer answer_evidence(LiveSession& session, const EvidenceRequest& request,
                               std::optional<Place> against, Cancel& cancel) {
  EvidenceAnswer answer{.evidence = head_evidence(session.late(), request, cancel)};
  if (!against || answer.evidence.profile.empty()) return answer;
  EvidenceRequest other = request;
  other.place = *against;
  answer.runner_up = {*against, head_evidence(session.late(), other, cancel).profile};
  return answer;
}

SimilarAnswer answer_similar(const LiveSession& session, Stack stack, const PatternExample& example,
                             Cancel& cancel) {
  SimilarAnswer answer;
  for (const SimilarHead& head : similar_heads(session.session(), stack, example, cancel))
    answer.heads.push_back({head});
  return answer;
}

void check_same_heads(const LiveSession& session, const LiveSession& from, Stack stack) {
  const std::string expected = heads_text(session, stack);
  const std::string found = heads_text(from, stack);
  if (found != expected)
    fail({.op = "changes", .argument = "from", .found = found, .expected = expected});
}

ChangesAnswer answer_changes(const LiveSession& session, const LiveSession& from, Stack stack,
                             Cancel& cancel) {
  const MatrixSize size = session.size(stack);
  const StackShape& shape = session.session().at(stack).shape;
  const std::vector<std::int64_t> begins = block_begins(size.queries);
  ChangesAnswer answer;
  for (const std::int64_t begin : begins)
    answer.rows += std::min(kRowsAtOnce, size.queries - begin);
  for (int layer = 0; layer < shape.layers; ++layer) {
    for (int head = 0; head < shape.heads; ++head) {
      const Place place{stack, layer, head};
      double moved = 0;
      for (const std::int64_t begin : begins) {
        const CellsRequest cells{.head = head,
                                 .row_begin = begin,
                                 .row_end = std::min(size.queries, begin + kRowsAtOnce),
                                 .key_end = size.keys};
        moved += weight_moved(matrix_cells(from.layer(place), cells, cancel),
                              matrix_cells(session.layer(place), cells, cancel));
      }
      answer.heads.push_back({place, moved / static_cast<double>(answer.rows)});
    }
  }
  std::ranges::stable_sort(answer.heads, std::greater(), &ChangedHeadAnswer::change);
  return answer;
}

}  // namespace heed
