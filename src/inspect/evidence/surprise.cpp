#include "inspect/evidence/surprise.h"

#include <fmt/format.h>

#include <algorithm>

#include "heed/error.h"
#include "inspect/rows/words.h"

namespace heed {

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

}  // namespace heed
