// The checks of generation, and which tokens may come next by the rules of a generation and of the
// model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heed/generate.h"

namespace heed {

void check(const ModelInfo& info, const TokenRules& rules);

/// Whether any rule forbids a token.
bool has_rules(const ModelInfo& info, const TokenRules& rules);

/// Sets the scores of tokens that may not follow `ids` to -inf; the last `written` of `ids` were
/// generated. Like in transformers, a forced token gets score 0. Rules are applied in transformers'
/// order.
void apply_rules(const ModelInfo& info, const GenerateArgs& args, std::span<const TokenId> ids,
                 std::size_t written, std::span<double> scores);

/// The tokens that may not follow these ids: the last token of each forbidden sequence
/// (`ModelInfo::bad_words`) whose other tokens end the text. A single end token does not count as
/// such a sequence; a sequence of several tokens counts only once the text is at least as long.
std::vector<TokenId> never_next(const ModelInfo& info, std::span<const TokenId> ids);

/// The tokens that would repeat a sequence of `size` tokens.
std::vector<TokenId> repeated_next(std::span<const TokenId> ids, std::int64_t size);

constexpr std::int64_t kMostBeams = 4096;  // each needs its own keys and values

/// Throws unless the model can continue these prompts as `args` says.
void check(const ModelInfo& info, const GenerateArgs& args);

/// Maximum number of tokens in a text: most_tokens, or fewer if the model runs out of positions.
std::int64_t most_tokens(const ModelInfo& info, const GenerateArgs& args,
                         std::size_t prompt_length);

}  // namespace heed
