#include "models/token_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/number_of.h"
#include "heed/base/error.h"

namespace heed {

void require_in_vocabulary(std::string_view op, const Tokenizer& tokenizer,
                           std::span<const TokenId> ids, std::int64_t vocabulary) {
  const auto outside = std::ranges::find_if(ids, [&](TokenId id) { return id >= vocabulary; });
  if (outside == ids.end()) return;
  fail({.code = ErrorCode::kCorrupt,
        .op = std::string(op),
        .argument = fmt::format("token '{}' of the text", displayable(tokenizer.piece(*outside))),
        .found = fmt::format("{} in the tokenizer", *outside),
        .expected = fmt::format("0 to {}: the tokenizer has {}, the model's vocabulary {}, "
                                "so they do not belong together",
                                vocabulary - 1, number_of(tokenizer.vocabulary_size(), "token"),
                                vocabulary)});
}

}  // namespace heed
