// What generation refuses, and which tokens may come next by the rules of a generation and the
// model's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heed/generate/generate.h"

namespace heed {

void check(const ModelInfo& info, const TokenRules& rules);

/// Whether any token is ruled out anywhere.
bool has_rules(const ModelInfo& info, const TokenRules& rules);

/// Lets only those scores of tokens stand that may follow `ids`, of which the last `written` were
/// generated: the others become -inf. Where a token is forced its score is 0, as transformers has
/// it. In its order.
void apply_rules(const ModelInfo& info, const GenerateArgs& args, std::span<const TokenId> ids,
                 std::size_t written, std::span<double> scores);

/// The tokens that may not follow these ids: each the last of a sequence that the model never
/// writes (`ModelInfo::bad_words`), whose others end the text. An end token alone is no such
/// sequence, and one of several tokens counts once the text is as long.
std::vector<TokenId> never_next(const ModelInfo& info, std::span<const TokenId> ids);

/// The tokens that would make a sequence of `size` tokens come a second time.
std::vector<TokenId> repeated_next(std::span<const TokenId> ids, std::int64_t size);

constexpr std::int64_t kMostBeams = 4096;  // each holds keys and values of its own

/// Throws unless the model can continue these prompts as `args` says.
void check(const ModelInfo& info, const GenerateArgs& args);

/// Tokens that a text may get: most_tokens, or until the model has no position for a further one.
std::int64_t most_tokens(const ModelInfo& info, const GenerateArgs& args,
                         std::size_t prompt_length);

}  // namespace heed
