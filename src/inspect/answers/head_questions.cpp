// Questions about heads beyond their scores on the text, and about changes between two sessions.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/wording.h"
#include "heed/error.h"
#include "inspect/answers/questions.h"
#include "inspect/map/cells.h"
#include "inspect/rows/alignment.h"

namespace heed {

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
  return {similar_heads(session.session(), stack, example, cancel)};
}

namespace {

// 64 rows cost as much as one; 8 blocks are a tenth of the work for 4,993 rows.
constexpr std::int64_t kRowsAtOnce = 64;
constexpr std::int64_t kMostBlocks = 8;

std::string heads_text(const LiveSession& session, Stack stack) {
  const std::vector<StackShape>& shapes = session.shapes();
  const auto found = std::ranges::find(shapes, stack, &StackShape::stack);
  if (found == shapes.end()) return fmt::format("no {}", stack_name(stack));
  return fmt::format("{} x {} heads", found->layers, found->heads);
}

std::string size_text(const LiveSession& session, Stack stack) {
  const MatrixSize size = session.size(stack);
  return fmt::format("{} queries, {} keys", size.queries, size.keys);
}

// The first rows of the compared blocks, spread evenly over the text.
std::vector<std::int64_t> block_begins(std::int64_t queries) {
  const std::int64_t all = (queries + kRowsAtOnce - 1) / kRowsAtOnce;
  const std::int64_t count = std::min(all, kMostBlocks);
  std::vector<std::int64_t> begins;
  for (std::int64_t at = 0; at < count; ++at)
    begins.push_back(kRowsAtOnce * (count == 1 ? 0 : at * (all - 1) / (count - 1)));
  return begins;
}

double unmasked(float weight) { return std::isnan(weight) ? 0 : weight; }

double weight_moved(const Cells& a, const Cells& b) {
  double sum = 0;
  for (std::size_t at = 0; at < a.values.size(); ++at)
    sum += std::abs(unmasked(a.values[at]) - unmasked(b.values[at])) / 2;
  return sum;
}

double weight_on(std::span<const float> row, const TokenRange& keys) {
  double sum = 0;
  for (std::int64_t key = keys.begin; key < keys.end; ++key)
    sum += unmasked(row[static_cast<std::size_t>(key)]);
  return sum;
}

// The whole weight of a key without a counterpart counts as moved.
double weight_moved(std::span<const float> a, std::span<const float> b,
                    const Alignment& alignment) {
  double alone_a = weight_on(a, {0, std::ssize(a)});
  double alone_b = weight_on(b, {0, std::ssize(b)});
  double moved = 0;
  for (const AlignedTokens& keys : alignment.pairs) {
    const double on_a = weight_on(a, keys.a), on_b = weight_on(b, keys.b);
    moved += std::abs(on_a - on_b);
    alone_a -= on_a;
    alone_b -= on_b;
  }
  return (moved + alone_a + alone_b) / 2;
}

// A word's row is that of its last token, which has read the whole word.
double weight_moved(const Cells& a, const Cells& b, const Alignment& alignment) {
  double sum = 0;
  for (const AlignedTokens& rows : alignment.pairs)
    sum += weight_moved(a.row(rows.a.end - 1), b.row(rows.b.end - 1), alignment);
  return sum;
}

Cells rows_of(const LiveSession& session, const Place& place, std::int64_t begin, std::int64_t end,
              Cancel& cancel) {
  return matrix_cells(session.layer(place),
                      {.head = place.head,
                       .row_begin = begin,
                       .row_end = end,
                       .key_end = session.size(place.stack).keys},
                      cancel);
}

// Runs `moved` on each head of the layers that are kept.
std::vector<ChangedHeadAnswer> changed_heads(const Session& session, Stack stack, std::int64_t rows,
                                             auto moved) {
  const StackShape& shape = session.at(stack).shape;
  std::vector<ChangedHeadAnswer> heads;
  for (int layer = 0; layer < shape.layers; ++layer)
    for (int head = 0; head < shape.heads && session.keeps(shape, layer); ++head) {
      const Place place{shape.stack, layer, head};
      heads.push_back({place, moved(place) / static_cast<double>(rows)});
    }
  std::ranges::stable_sort(heads, std::greater(), &ChangedHeadAnswer::change);
  return heads;
}

ChangesAnswer aligned_changes(const LiveSession& session, const LiveSession& from, Stack stack,
                              Cancel& cancel) {
  const Alignment alignment = align_words(from.session(), session.session());
  const std::int64_t length_a = from.size(stack).queries, length_b = session.size(stack).queries;
  const auto moved = [&](const Place& place) {
    return weight_moved(rows_of(from, place, 0, length_a, cancel),
                        rows_of(session, place, 0, length_b, cancel), alignment);
  };
  const std::int64_t rows = std::ssize(alignment.pairs);
  return {rows, changed_heads(session.session(), stack, rows, moved)};
}

bool is_as_long(const LiveSession& session, const LiveSession& from, Stack stack) {
  const MatrixSize size = session.size(stack), other = from.size(stack);
  return size.queries == other.queries && size.keys == other.keys;
}

std::string said(const Session& a, const Session& b, const Alignment& alignment) {
  const auto quoted = [](const Session& session, const TokenRange& range) {
    return fmt::format("\u201C{}\u201D", token_text(words_text(session, range)));
  };
  std::vector<std::string> parts;
  for (const auto& [in_a, in_b] : alignment.pairs)
    if (in_a.size() != in_b.size())
      parts.push_back(fmt::format("{} is {} and {} {} tokens: they are compared as words",
                                  quoted(a, in_a), in_a.size(), quoted(b, in_b), in_b.size()));
  if (alignment.alone.a.size() > 0)
    parts.push_back(fmt::format("{} of A has no counterpart", quoted(a, alignment.alone.a)));
  if (alignment.alone.b.size() > 0)
    parts.push_back(fmt::format("{} of B has no counterpart", quoted(b, alignment.alone.b)));
  return joined(parts, "; ");
}

}  // namespace

AlignmentAnswer answer_alignment(const LiveSession& session, const LiveSession& from) {
  const Session &a = from.session(), &b = session.session();
  const Alignment alignment = align_words(a, b);
  AlignmentAnswer answer{.said = said(a, b, alignment)};
  for (const auto& [in_a, in_b] : alignment.pairs)
    answer.pairs.push_back({in_a.begin, in_a.end, in_b.begin, in_b.end});
  return answer;
}

void check_same_heads(const LiveSession& session, const LiveSession& from, Stack stack) {
  const std::string expected = heads_text(session, stack), found = heads_text(from, stack);
  if (found != expected) fail("changes", "from", found, expected);
  if (!is_as_long(session, from, stack) &&
      align_words(from.session(), session.session()).pairs.empty())
    fail("changes", "from", size_text(from, stack),
         size_text(session, stack) + ", or a text that can be aligned by words");
}

ChangesAnswer answer_changes(const LiveSession& session, const LiveSession& from, Stack stack,
                             Cancel& cancel) {
  if (!is_as_long(session, from, stack)) return aligned_changes(session, from, stack, cancel);
  const std::int64_t queries = session.size(stack).queries;
  const std::vector<std::int64_t> begins = block_begins(queries);
  const auto end_of = [&](std::int64_t begin) { return std::min(queries, begin + kRowsAtOnce); };
  std::int64_t rows = 0;
  for (const std::int64_t begin : begins) rows += end_of(begin) - begin;
  const auto moved = [&](const Place& place) {
    double sum = 0;
    for (const std::int64_t begin : begins)
      sum += weight_moved(rows_of(from, place, begin, end_of(begin), cancel),
                          rows_of(session, place, begin, end_of(begin), cancel));
    return sum;
  };
  return {rows, changed_heads(session.session(), stack, rows, moved)};
}

}  // namespace heed
