#include "inspect/evidence/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/model.h"
#include "heed/tokenizer.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/evidence/read_out.h"
#include "inspect/rows/words.h"
#include "tensor/views.h"

namespace heed {
namespace {

std::vector<double> probabilities(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  std::vector<double> all;
  for (const float logit : logits) all.push_back(std::exp(logit - largest));
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  for (double& probability : all) probability /= sum;
  return all;
}

void read_words(const Session& session, std::span<const float> as_it_is,
                std::span<const float> edited, std::int64_t top, Trial& trial) {
  const std::vector<double> before = probabilities(as_it_is), after = probabilities(edited);
  const auto probability_of = [&](TokenId id) { return before[static_cast<std::size_t>(id)]; };
  trial.rest_as_it_is = trial.rest_edited = 1;
  trial.rest_count = std::ssize(before);
  for (const TokenId id : largest_ids(std::ssize(before), top, probability_of)) {
    const auto word = static_cast<std::size_t>(id);
    --trial.rest_count;
    trial.words.push_back({id, word_of(session.tokenizer, id), before[word], after[word]});
    trial.rest_as_it_is -= before[word];
    trial.rest_edited -= after[word];
  }
  trial.rest_as_it_is = std::max(trial.rest_as_it_is, 0.0);
  trial.rest_edited = std::max(trial.rest_edited, 0.0);
}

// The position where the likeliest word's probability changes most; the first of equals.
std::int64_t most_changed(const Tensor& before, const Tensor& after) {
  std::int64_t found = 0;
  double most = -1;
  for (std::int64_t row = 0; row < before.dim(0); ++row) {
    const std::vector<double> was = probabilities(matrix_row(before, row));
    const auto word = std::ranges::max_element(was) - was.begin();
    const auto at = static_cast<std::size_t>(word);
    const double change = std::abs(probabilities(matrix_row(after, row))[at] - was[at]);
    if (change > most) most = change, found = row;
  }
  return found;
}

// Empty if the model's folder uses an unsupported pooling.
std::optional<double> text_moved(const LoadedModel& model, const Tensor& before,
                                 const Tensor& after) {
  try {
    const Pooling pooling = read_pooling(model.folder);
    return change_of(pooled(before.view(), pooling), pooled(after.view(), pooling));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return {};
  }
}

}  // namespace

std::optional<std::int64_t> tried_position(const Session& session, Stack stack,
                                           std::int64_t query) {
  if (session.info.reads_source() && stack == Stack::kEncoder) return {};
  return query;
}

Trial try_edits(const Session& session, const LoadedModel& model, const Edits& edits,
                std::optional<std::int64_t> position, std::int64_t top,
                const std::atomic<bool>* stopped) {
  const bool last = session.info.writes() && position == std::ssize(session.tokens) - 1;
  const OutputOptions options = {.all_positions = !last, .stopped = stopped};
  const Tensor before = edited_output(session, {}, model, options);
  const Tensor after = edited_output(session, edits, model, options);
  if (!position) position = most_changed(before, after);
  const std::int64_t row = last ? 0 : *position;
  Trial trial{.position = *position,
              .moved = change_of(matrix_row(before, row), matrix_row(after, row))};
  if (session.info.has_logits)
    read_words(session, matrix_row(before, row), matrix_row(after, row), top, trial);
  else if (!session.info.causal)
    trial.text_moved = text_moved(model, before, after);
  return trial;
}

TokenId one_token(const Session& session, TokenSide side, const std::string& text) {
  const bool source = side == TokenSide::kKeyTokens || !session.info.reads_source();
  const Tokenizer* tokenizer = source ? session.source_tokenizer : session.tokenizer;
  if (tokenizer == nullptr) fail("edits", "text", "given", "an id: the model has no tokenizer");
  const Encoding cut = tokenizer->encode(text, /*add_special=*/false);
  std::vector<std::string> pieces;
  for (const TokenId id : cut.ids) pieces.push_back(tokenizer->token_bytes(id));
  if (cut.ids.size() != 1)
    fail({.op = "edits",
          .found = fmt::format("\"{}\" is {}{}", text, number_of(cut.ids.size(), "token"),
                               pieces.empty() ? "" : fmt::format(" ({})", joined(pieces, "|"))),
          .hint = "a swap needs a single token"});
  return cut.ids[0];
}

}  // namespace heed
