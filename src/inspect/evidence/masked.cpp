#include "inspect/evidence/masked.h"

#include <fmt/format.h>

#include "heed/error.h"
#include "inspect/rows/next_words.h"

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

}  // namespace heed
