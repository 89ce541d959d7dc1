#include "generate/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed {
namespace {

void forbid(std::span<double> scores, const auto& ids) {
  for (const auto id : ids)
    if (static_cast<std::size_t>(id) < scores.size())
      scores[static_cast<std::size_t>(id)] = -HUGE_VAL;
}

void force(std::span<double> scores, std::span<const TokenId> ids) {
  std::ranges::fill(scores, -HUGE_VAL);
  for (const TokenId id : ids) scores[static_cast<std::size_t>(id)] = 0;
}

// Checks that a forced token may be generated.
void check_forced(const ModelInfo& info, const char* name, std::span<const TokenId> ids,
                  const std::vector<TokenId>& suppressed) {
  for (const TokenId id : ids) {
    if (id < 0 || id >= info.vocabulary)
      fail("generate", name, id, fmt::format("0 to {} (the vocabulary)", info.vocabulary - 1));
    if (std::ranges::find(suppressed, id) != suppressed.end())
      fail("generate", name, fmt::format("{}, which is suppressed", id),
           "a token that may be written");
  }
}

// Checks that at least one token may be generated.
void check_suppressed(const ModelInfo& info, const char* name, std::vector<TokenId> ids) {
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  const auto count = std::ranges::count_if(
      ids.begin(), repeated.begin(), [&](TokenId id) { return id >= 0 && id < info.vocabulary; });
  if (count == info.vocabulary)
    fail("generate", name, fmt::format("all {} tokens of the vocabulary", count),
         "a list that leaves one to be written");
}

// Whether this is the first token in the sense of rules about the beginning: after a forced one, if
// any.
bool is_first(const TokenRules& rules, std::size_t length, std::size_t written) {
  const std::size_t prompt = length - written;
  return written == (prompt == 1 && rules.forced_first ? 1U : 0U);
}

}  // namespace

void check(const ModelInfo& info, const TokenRules& rules) {
  if (rules.no_repeat_ngram < 0)
    fail("generate", "no_repeat_ngram", rules.no_repeat_ngram, "at least 1, or 0 for any");
  check_suppressed(info, "suppressed", rules.suppressed);
  std::vector<TokenId> at_first = rules.suppressed;
  at_first.insert(at_first.end(), rules.suppressed_first.begin(), rules.suppressed_first.end());
  check_suppressed(info, "suppressed_first", std::move(at_first));
  if (rules.forced_first)
    check_forced(info, "forced_first", {{*rules.forced_first}}, rules.suppressed);
  check_forced(info, "forced_last", rules.forced_last, rules.suppressed);
}

std::vector<TokenId> never_next(const ModelInfo& info, std::span<const TokenId> ids) {
  std::vector<TokenId> never;
  for (const std::vector<std::int64_t>& word : info.bad_words) {
    const std::size_t before = word.size() - 1;
    if (word.back() >= info.vocabulary || (before == 0 && info.ends_with(word.back()))) continue;
    if (before > 0 && word.size() > ids.size()) continue;  // like transformers
    if (std::ranges::equal(ids.last(before), std::span(word).first(before)))
      never.push_back(static_cast<TokenId>(word.back()));
  }
  return never;
}

std::vector<TokenId> repeated_next(std::span<const TokenId> ids, std::int64_t size) {
  std::vector<TokenId> repeated;
  if (size < 1 || std::ssize(ids) + 1 < size) return repeated;
  const auto before = static_cast<std::size_t>(size - 1);
  for (std::size_t at = 0; at + before < ids.size(); ++at)
    if (std::ranges::equal(ids.subspan(at, before), ids.last(before)))
      repeated.push_back(ids[at + before]);
  return repeated;
}

bool has_rules(const ModelInfo& info, const TokenRules& rules) {
  return !info.bad_words.empty() || rules.no_repeat_ngram > 0 || rules.least_tokens > 0 ||
         rules.least_length > 0 || !rules.suppressed.empty() || !rules.suppressed_first.empty() ||
         rules.forced_first || !rules.forced_last.empty();
}

void apply_rules(const ModelInfo& info, const GenerateArgs& args, std::span<const TokenId> ids,
                 std::size_t written, std::span<double> scores) {
  const TokenRules& rules = args.rules;
  forbid(scores, repeated_next(ids, rules.no_repeat_ngram));
  forbid(scores, never_next(info, ids));
  if (static_cast<std::int64_t>(written) < rules.least_tokens ||
      std::ssize(ids) < rules.least_length)
    forbid(scores, info.end_tokens);
  if (rules.forced_first && ids.size() == 1) force(scores, {{*rules.forced_first}});
  if (!rules.forced_last.empty() && static_cast<std::int64_t>(written) + 1 == args.most_tokens)
    force(scores, rules.forced_last);
  forbid(scores, rules.suppressed);
  if (is_first(rules, ids.size(), written)) forbid(scores, rules.suppressed_first);
}

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
  // The last token of a text is not fed to the model, so it needs no position.
  const std::int64_t room = info.positions - static_cast<std::int64_t>(prompt_length);
  return room < args.most_tokens ? room + 1 : args.most_tokens;
}

}  // namespace heed
