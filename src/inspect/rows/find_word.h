// Finds the tokens of a stack that a word names. A translation has two texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// How the caller names the two sides of an attention in errors: "--who" and "--to".
struct WordSides {
  std::string_view queries, keys;
};

/// As find_word of the stack's queries or keys. If only the model's other text has the word, the
/// error says which side or stack to name.
std::vector<std::int64_t> find_word(const Session& session, Stack stack, bool is_key,
                                    const std::string& word, const WordSides& sides);

}  // namespace heed
