#include "inspect/evidence/read_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generate/forward.h"
#include "heed/error.h"
#include "tensor/rows.h"

namespace heed {
namespace {

constexpr std::int64_t kNumbersAtOnce = std::int64_t{1} << 22;  // logits: 16 MiB
constexpr std::int64_t kMostRows = 256;

}  // namespace

std::optional<TokenId> word_that_came(const Session& session, std::int64_t position) {
  const std::int64_t at = session.info.writes() ? position + 1 : position;
  if (at >= std::ssize(session.tokens)) return {};
  return session.tokens[static_cast<std::size_t>(at)].id;
}

void require_streams(std::string_view op, const Session& session) {
  if (!session.streams.empty()) return;
  fail({.code = ErrorCode::kUnsupported,
        .op = op,
        .found = session.info.has_logits ? "the session keeps no residual stream"
                                         : fmt::format("{} has no word output", session.model),
        .expected = "a session of a model that says words"});
}

Tensor read_out(const StreamLevel& level, const LoadedModel& model, std::int64_t begin,
                std::int64_t end) {
  const Tensor rows = Tensor::copy_of(level.value.view().slice(0, begin, end));
  Run run;
  run.in_bulk = end - begin >= kBulkRows;
  const Tensor stream = rows.share().reshaped({1, end - begin, level.value.dim(1)});
  Tensor logits = model.model->read_out(stream, run);
  const Shape shape = {logits.dim(1), logits.dim(2)};
  return std::move(logits).reshaped(shape);
}

void visit_logits(const StreamLevel& level, const LoadedModel& model, std::int64_t begin,
                  std::int64_t end, const std::function<void()>& check, const UseLogits& use) {
  const std::int64_t vocabulary = model.model->info().vocabulary;
  const std::int64_t rows = std::clamp<std::int64_t>(kNumbersAtOnce / vocabulary, 1, kMostRows);
  for (std::int64_t first = begin; first < end; first += rows) {
    check();
    const std::int64_t last = std::min(first + rows, end);
    const Tensor logits = read_out(level, model, first, last);
    for (std::int64_t row = first; row < last; ++row) use(row, matrix_row(logits, row - first));
  }
}

double change_of(std::span<const float> from, std::span<const float> to) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    difference += std::pow(static_cast<double>(to[i]) - from[i], 2);
    size += std::pow(static_cast<double>(from[i]), 2);
  }
  return size > 0 ? std::sqrt(difference / size) : 0;
}

TokenId first_choice(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

WordChance chance_of(TokenId id, std::span<const float> logits) {
  const Distribution distribution = distribution_of(logits);
  const GeneratedToken token = token_of(id, logits, distribution);
  const auto own = static_cast<std::size_t>(id);
  WordChance chance{.probability = token.probability, .entropy = token.entropy, .rank = 1};
  for (std::size_t other = 0; other < logits.size(); ++other)
    if (logits[other] > logits[own] || (logits[other] == logits[own] && other < own)) ++chance.rank;
  return chance;
}

}  // namespace heed
