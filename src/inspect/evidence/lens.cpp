#include "inspect/evidence/lens.h"

#include <algorithm>

#include "inspect/rows/words.h"
#include "tensor/rows.h"

namespace heed {
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
