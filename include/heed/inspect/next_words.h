// The next words of a text, and what an encoder would have in its gaps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/inspect/session.h"
#include "heed/text/tokenizer.h"

namespace heed {

struct NextWord {
  TokenId id = 0;
  std::string bytes;
  double probability = 0;
  double logit = 0;
};

struct NextWords {
  std::vector<NextWord> words;  // largest first
  std::int64_t rest_count = 0;
  double rest_probability = 0;
};

/// A mask token of an encoder's text, and what may stand in its place.
struct FilledMask {
  std::int64_t at = 0;
  NextWords words;
};

/// The `top` largest probabilities after the last token; empty when the model has no word output.
NextWords next_words(const Session& session, std::int64_t top);

/// Where an encoder that fills masks reads [MASK] or <mask>.
std::vector<std::int64_t> mask_places(const Session& session);

/// The `top` largest probabilities at each of these; empty where the session did not keep the
/// logits of all positions.
std::vector<FilledMask> filled_masks(const Session& session, std::int64_t top);

}  // namespace heed
