#include "inspect/evidence/read_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generate/forward.h"
#include "heed/error.h"
#include "inspect/rows/words.h"
#include "tensor/views.h"

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

TokenId mask_token(const Session& session) {
  const ModelInfo& info = session.info;
  if (info.causal || info.reads_source() || !info.has_logits)
    fail({.code = ErrorCode::kUnsupported,
          .op = "mask",
          .found = fmt::format("{} fills no masks", session.model),
          .expected = "an encoder with words, as BERT"});
  if (const std::optional<TokenId> mask = mask_token_of(session)) return *mask;
  fail({.code = ErrorCode::kUnsupported,
        .op = "mask",
        .found = fmt::format("{} names no mask", session.model),
        .expected = "[MASK] or <mask> in its tokenizer"});
}

Edits covered(const Session& session, std::int64_t position) {
  return {.swap = {{.at = {TokenSide::kTokens, position}, .id = mask_token(session)}}};
}

namespace {

// Tokens that are not text: an encoder's frame, and masks.
bool is_sign(const Session& session, std::span<const std::int64_t> masks, std::int64_t at) {
  return session.tokens[static_cast<std::size_t>(at)].text < 0 ||
         std::ranges::binary_search(masks, at);
}

}  // namespace

std::vector<TokenSurprise> surprises(const Session& session, const LoadedModel& model,
                                     const std::function<void()>& check) {
  require_streams("words", session);
  const bool writes = session.info.writes();
  const std::int64_t behind = writes ? 1 : 0;
  const std::vector<std::int64_t> masks = mask_places(session);
  std::vector<TokenSurprise> all;
  visit_logits(session.streams.back(), model, 0, std::ssize(session.tokens) - behind, check,
               [&](std::int64_t position, std::span<const float> logits) {
                 if (!writes && is_sign(session, masks, position)) return;
                 const TokenId id = *word_that_came(session, position);
                 all.push_back({position + behind, chance_of(id, logits)});
               });
  return all;
}

namespace {

// Up to this many multiplications, every position is judged, not only those of the window.
constexpr double kQuick = 4e9;

double work_of(const Session& session, std::size_t levels) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  return number(levels) * number(session.tokens.size()) * number(session.info.width) *
         number(session.info.vocabulary);
}

bool is_wanted(const StreamLevel& level, bool every_block) {
  return every_block || level.kind != TapKind::kMiddle;
}

LensCell cell_of(const Session& session, std::int64_t position, std::span<const float> logits) {
  LensCell cell{.id = first_choice(logits)};
  cell.probability = chance_of(cell.id, logits).probability;
  if (const auto came = word_that_came(session, position)) {
    const WordChance chance = chance_of(*came, logits);
    cell.came = chance.probability;
    cell.rank = chance.rank;
  }
  return cell;
}

std::vector<TokenId> answers_of(const Session& session, const LoadedModel& model,
                                const LensRequest& request) {
  if (!request.at) return {};
  const Tensor logits = read_out(session.streams.back(), model, *request.at, *request.at + 1);
  std::vector<TokenId> answers;
  for (const NextWord& word : likeliest(matrix_row(logits, 0), nullptr, request.answers).words)
    answers.push_back(word.id);
  return answers;
}

// The rows of one level: positions judged, words shown, and ranks and probabilities of the answers.
LensLevel level_of(const Session& session, const LoadedModel& model, const StreamLevel& level,
                   const LensRequest& request, const Lens& lens,
                   const std::function<void()>& check) {
  LensLevel answer{.kind = level.kind, .stack = level.stack, .layer = level.layer};
  const auto use = [&](std::int64_t position, std::span<const float> logits) {
    const auto came = word_that_came(session, position);
    if (came) ++answer.of;
    if (came && first_choice(logits) == *came) ++answer.right;
    if (position >= request.begin && position < request.end)
      answer.cells.push_back(cell_of(session, position, logits));
  };
  const std::int64_t begin = lens.judged_all ? 0 : request.begin;
  const std::int64_t end = lens.judged_all ? std::ssize(session.tokens) : request.end;
  visit_logits(level, model, begin, end, check, use);
  if (!request.at) return answer;
  visit_logits(level, model, *request.at, *request.at + 1, check,
               [&](std::int64_t, std::span<const float> logits) {
                 for (const TokenId id : lens.answers) {
                   const WordChance chance = chance_of(id, logits);
                   answer.ranks.push_back(chance.rank);
                   answer.chances.push_back(chance.probability);
                 }
               });
  return answer;
}

}  // namespace

Lens lens(const Session& session, const LoadedModel& model, const LensRequest& request,
          const std::function<void()>& check) {
  require_streams("lens", session);
  Lens lens{.begin = request.begin, .end = request.end};
  const auto middle = [](const StreamLevel& level) { return level.kind == TapKind::kMiddle; };
  lens.has_blocks = std::ranges::any_of(session.streams, middle);
  lens.judged_all =
      request.end - request.begin > 1 && work_of(session, session.streams.size()) <= kQuick;
  lens.answers = answers_of(session, model, request);
  for (const StreamLevel& level : session.streams)
    if (is_wanted(level, request.every_block))
      lens.levels.push_back(level_of(session, model, level, request, lens, check));
  return lens;
}

}  // namespace heed
