#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/sequences.h"
#include "heed/error.h"
#include "inspect/rows/words.h"
#include "tensor/rows.h"
#include "text/added_token.h"

namespace heed {

std::string word_of(const Tokenizer* tokenizer, TokenId id) {
  return tokenizer != nullptr ? tokenizer->token_bytes(id) : fmt::format("#{}", id);
}

NextWords likeliest(std::span<const float> logits, const Tokenizer* tokenizer, std::int64_t top) {
  if (top < 0) fail("next_words", "top", top, "0 or more");
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  auto ids = ascending<TokenId>(std::ssize(logits));
  const std::int64_t kept = std::min(top, std::ssize(logits));
  const auto logit_of = [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
  std::ranges::partial_sort(ids, ids.begin() + kept, [&](TokenId a, TokenId b) {
    return logit_of(a) != logit_of(b) ? logit_of(a) > logit_of(b) : a < b;
  });
  NextWords answer{.words = {}, .rest_count = std::ssize(logits) - kept, .rest_probability = 1};
  for (const TokenId id : std::span(ids).first(static_cast<std::size_t>(kept))) {
    const double probability = std::exp(logit_of(id) - largest) / sum;
    answer.words.push_back({id, word_of(tokenizer, id), probability, logit_of(id)});
    answer.rest_probability -= probability;
  }
  answer.rest_probability = std::max(answer.rest_probability, 0.0);
  return answer;
}

NextWords next_words(const Session& session, std::int64_t top) {
  if (!session.logits.given() || !session.info.writes()) return {};
  return likeliest(matrix_row(session.logits, session.logits.dim(0) - 1), session.tokenizer, top);
}

std::optional<TokenId> mask_token_of(const Session& session) {
  const ModelInfo& info = session.info;
  if (info.causal || info.reads_source() || !info.has_logits || session.tokenizer == nullptr)
    return {};
  const TokenId id = mask_token_of(*session.tokenizer);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::vector<std::int64_t> mask_places(const Session& session) {
  std::vector<std::int64_t> places;
  const std::optional<TokenId> mask = mask_token_of(session);
  for (std::int64_t at = 0; mask && at < std::ssize(session.tokens); ++at)
    if (session.tokens[static_cast<std::size_t>(at)].id == *mask) places.push_back(at);
  return places;
}

std::vector<FilledMask> filled_masks(const Session& session, std::int64_t top) {
  std::vector<FilledMask> filled;
  if (!session.logits.given() || session.logits.dim(0) != std::ssize(session.tokens)) return filled;
  for (const std::int64_t at : mask_places(session))
    filled.push_back({at, likeliest(matrix_row(session.logits, at), session.tokenizer, top)});
  return filled;
}

}  // namespace heed
