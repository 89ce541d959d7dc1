// The regular expressions of tokenizers, as Oniguruma reads them: sets of characters, general
// categories, groups, alternatives, repetitions (greedy, lazy, possessive) and lookahead.
#pragma once

#include <memory>
#include <string_view>

#include "text/pipeline/pattern.h"

namespace heed {

/// Null where the expression uses something else, may match nothing, or repeats what may be empty.
std::unique_ptr<Pattern> read_regex(std::string_view regex);

}  // namespace heed
