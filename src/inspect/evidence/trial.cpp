#include "inspect/evidence/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "heed/base/error.h"
#include "heed/text/tokenizer.h"
#include "inspect/evidence/edited_run.h"

namespace heed {
namespace {

std::span<const float> row_of(const Tensor& output, std::int64_t row) {
  const auto width = static_cast<std::size_t>(output.dim(1));
  return {output.data<float>() + row * output.dim(1), width};
}

std::vector<double> probabilities(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  std::vector<double> all;
  for (const float logit : logits) all.push_back(std::exp(logit - largest));
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  for (double& probability : all) probability /= sum;
  return all;
}

double moved(std::span<const float> from, std::span<const float> to) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    difference += std::pow(static_cast<double>(to[i]) - from[i], 2);
    size += std::pow(static_cast<double>(from[i]), 2);
  }
  return size > 0 ? std::sqrt(difference / size) : 0;
}

void read_words(const Session& session, std::span<const float> as_it_is,
                std::span<const float> edited, std::int64_t top, Trial& trial) {
  const std::vector<double> before = probabilities(as_it_is), after = probabilities(edited);
  std::vector<TokenId> ids(before.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto kept = std::min(top, std::ssize(ids));
  std::ranges::partial_sort(ids, ids.begin() + kept, [&](TokenId a, TokenId b) {
    const double x = before[static_cast<std::size_t>(a)], y = before[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  trial.rest_as_it_is = trial.rest_edited = 1;
  trial.rest_count = std::ssize(ids) - kept;
  for (std::int64_t at = 0; at < kept; ++at) {
    const TokenId id = ids[static_cast<std::size_t>(at)];
    const auto word = static_cast<std::size_t>(id);
    const Tokenizer* tokenizer = session.tokenizer;
    trial.words.push_back(
        {id, tokenizer != nullptr ? tokenizer->token_bytes(id) : fmt::format("#{}", id),
         before[word], after[word]});
    trial.rest_as_it_is -= before[word];
    trial.rest_edited -= after[word];
  }
  trial.rest_as_it_is = std::max(trial.rest_as_it_is, 0.0);
  trial.rest_edited = std::max(trial.rest_edited, 0.0);
}

}  // namespace

Trial try_edits(const Session& session, const LoadedModel& model, const Edits& edits,
                std::int64_t position, std::int64_t top, const std::atomic<bool>* stopped) {
  const bool last = session.info.writes() && position == std::ssize(session.tokens) - 1;
  const OutputOptions options = {.all_positions = !last, .stopped = stopped};
  const Tensor before = edited_output(session, {}, model, options);
  const Tensor after = edited_output(session, edits, model, options);
  const std::int64_t row = last ? 0 : position;
  Trial trial{.moved = moved(row_of(before, row), row_of(after, row))};
  if (session.info.has_logits)
    read_words(session, row_of(before, row), row_of(after, row), top, trial);
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
    fail("edits", "text",
         cut.ids.empty() ? std::string("no token")
                         : fmt::format("{} tokens ({})", cut.ids.size(), fmt::join(pieces, "|")),
         "one token of the model's");
  return cut.ids[0];
}

}  // namespace heed
