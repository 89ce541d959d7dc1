// What generation refuses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heed/generate/generate.h"

namespace heed {

constexpr std::int64_t kMostBeams = 4096;  // each holds keys and values of its own

/// Throws unless the model can continue these prompts as `args` says.
void check(const ModelInfo& info, const GenerateArgs& args);

/// Tokens that a text may get: most_tokens, or until the model has no position for a further one.
std::int64_t most_tokens(const ModelInfo& info, const GenerateArgs& args,
                         std::size_t prompt_length);

}  // namespace heed
