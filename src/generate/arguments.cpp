#include "generate/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/enumerator.h"
#include "base/number_of.h"
#include "generate/rules.h"
#include "heed/error.h"

namespace heed {
namespace {

void check_prompt(const ModelInfo& info, bool crop, std::span<const TokenId> prompt) {
  if (prompt.empty()) fail("generate", "prompt", "empty", "at least one token");
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length > info.positions && !crop)
    fail("generate", "prompt", fmt::format("{} long", number_of(length, "token")),
         fmt::format("at most {} (the model's positions)", info.positions));
  for (const TokenId id : prompt)
    if (id < 0 || id >= info.vocabulary)
      fail("generate", "token", id, fmt::format("0 to {} (the vocabulary)", info.vocabulary - 1));
}

void check_sources(const ModelInfo& info, const GenerateArgs& args) {
  if (args.sources.size() != (info.reads_source() ? args.prompts.size() : 0))
    fail("generate", "sources", fmt::format("a list of {}", args.sources.size()),
         info.reads_source() ? fmt::format("{} entries, one per prompt", args.prompts.size())
                             : "none: the model reads no source");
  for (const auto& source : args.sources) {
    const std::int64_t length = std::ssize(source);
    if (length == 0) fail("generate", "source", "empty", "at least one token");
    if (length > info.source_positions)
      fail("generate", "source", fmt::format("{} long", number_of(length, "token")),
           fmt::format("at most {} (the model's positions)", info.source_positions));
    for (const TokenId id : source)
      if (id < 0 || id >= info.source_vocabulary)
        fail("generate", "source token", id,
             fmt::format("0 to {} (the vocabulary)", info.source_vocabulary - 1));
  }
}

}  // namespace

void check(const ModelInfo& info, const GenerateArgs& args) {
  if (!info.writes())
    fail({.op = "generate",
          .argument = "model",
          .found = info.title + (info.has_logits ? "" : " without its head"),
          .expected = "a decoder, which predicts next tokens",
          .hint = info.has_logits ? "heed look fills an encoder's mask tokens" : ""});
  if (args.most_tokens < 1) fail("generate", "most_tokens", args.most_tokens, "at least 1");
  check(args.sampling);
  check(info, args.rules);
  if (args.beams < 1 || args.beams > kMostBeams)
    fail("generate", "beams", args.beams, fmt::format("1 to {}", kMostBeams));
  require_enumerator("generate", "early_stopping", args.early_stopping, EarlyStopping::kNever);
  if (!std::isfinite(args.length_penalty))
    fail("generate", "length_penalty", args.length_penalty, "a finite number");
  if (!args.stop.empty() && args.tokenizer == nullptr)
    fail("generate", "tokenizer", {}, "one, as stop is given");
  if (std::ranges::find(args.stop, "") != args.stop.end())
    fail("generate", "stop", "empty", "at least one character");
  for (const auto& prompt : args.prompts) check_prompt(info, args.crop && args.beams == 1, prompt);
  check_sources(info, args);
}

std::int64_t most_tokens(const ModelInfo& info, const GenerateArgs& args,
                         std::size_t prompt_length) {
  // The last token of a text is not fed, so it needs no position.
  const std::int64_t room = info.positions - static_cast<std::int64_t>(prompt_length);
  return room < args.most_tokens ? room + 1 : args.most_tokens;
}

}  // namespace heed
