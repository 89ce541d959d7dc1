#include "inspect/evidence/masked.h"

#include <fmt/format.h>

#include "heed/base/error.h"

namespace heed {

TokenId mask_token(const Session& session) {
  const ModelInfo& info = session.info;
  if (info.causal || info.reads_source() || !info.has_logits)
    fail({.code = ErrorCode::kUnsupported,
          .op = "mask",
          .found = fmt::format("{} fills no masks", session.model),
          .expected = "an encoder with words, as BERT"});
  if (session.tokenizer != nullptr)
    for (const char* name : {"[MASK]", "<mask>"})
      if (const TokenId id = session.tokenizer->find(name); id >= 0) return id;
  fail({.code = ErrorCode::kUnsupported,
        .op = "mask",
        .found = fmt::format("{} names no mask", session.model),
        .expected = "[MASK] or <mask> in its tokenizer"});
}

Edits covered(const Session& session, std::int64_t position) {
  return {.swap = {{.at = {TokenSide::kTokens, position}, .id = mask_token(session)}}};
}

}  // namespace heed
