#include "generate/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/numbers.h"
#include "base/philox.h"
#include "base/wording.h"
#include "generate/forward.h"
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

namespace {

constexpr std::uint32_t kStream = 0x73616D70;  // separates it from other uses of a seed

// Heap order: most probable on top, ties to the lower id.
bool less_likely(const Choice& a, const Choice& b) {
  return a.probability < b.probability || (a.probability == b.probability && a.id > b.id);
}

bool likelier(const Choice& a, const Choice& b) { return less_likely(b, a); }

// Logits after the penalty, stored in `probability` until normalised.
std::vector<Choice> penalised(std::span<const float> logits, double penalty,
                              std::span<const TokenId> seen) {
  std::vector<Choice> all(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    all[i] = {static_cast<TokenId>(i), static_cast<double>(logits[i])};
  if (penalty == 1) return all;
  for (const TokenId id : seen) {
    const auto i = static_cast<std::size_t>(id);
    const auto logit = static_cast<double>(logits[i]);  // once, no matter how often it occurred
    all[i].probability = logit > 0
                             ? logit / penalty
                             : std::max(logit * penalty, std::numeric_limits<double>::lowest());
  }
  return all;
}

void renormalise(std::vector<Choice>& all) {
  double sum = 0;
  for (const Choice& choice : all) sum += choice.probability;
  for (Choice& choice : all) choice.probability /= sum;
}

// Moves the most probable choices that together reach `mass` to the front, and drops the others.
// Sorts only those that stay, because a vocabulary has many more.
void keep_mass(std::vector<Choice>& all, double mass) {
  std::ranges::make_heap(all, less_likely);
  auto end = all.end();
  double reached = 0;
  while (end != all.begin() && reached < mass) {
    std::pop_heap(all.begin(), end, less_likely);
    reached += (--end)->probability;
  }
  all.erase(all.begin(), end);
}

}  // namespace

void check(const Sampling& s) {
  if (!(std::isfinite(s.temperature) && s.temperature >= 0))
    fail("generate", "temperature", s.temperature, "a finite number of at least 0 (greedy)");
  if (s.top_k < 0) fail("generate", "top_k", s.top_k, "at least 1, or 0 for all");
  if (!(s.top_p > 0 && s.top_p <= 1)) fail("generate", "top_p", s.top_p, "above 0 and at most 1");
  if (!(s.min_p >= 0 && s.min_p <= 1)) fail("generate", "min_p", s.min_p, "0 to 1");
  if (!(std::isfinite(s.repetition_penalty) && s.repetition_penalty > 0))
    fail("generate", "repetition_penalty", s.repetition_penalty, "above 0");
}

std::vector<Choice> choices(std::span<const float> logits, const Sampling& sampling,
                            std::span<const TokenId> seen) {
  check_logits(logits);
  std::vector<Choice> all = penalised(logits, sampling.repetition_penalty, seen);
  const auto [most_likely, largest] = *std::ranges::max_element(all, less_likely);
  if (sampling.temperature == 0) return {{most_likely, 1}};
  if (sampling.top_k > 0 && sampling.top_k < std::ssize(all)) {
    std::ranges::nth_element(all, all.begin() + (sampling.top_k - 1), likelier);
    all.resize(static_cast<std::size_t>(sampling.top_k));
  }
  for (auto& [id, value] : all) value = std::exp((value - largest) / sampling.temperature);
  renormalise(all);
  if (sampling.top_p < 1) keep_mass(all, sampling.top_p);
  const double most = std::ranges::max_element(all, less_likely)->probability;
  std::erase_if(all, [&](const Choice& c) { return c.probability < sampling.min_p * most; });
  renormalise(all);
  if (!std::ranges::is_sorted(all, {}, &Choice::id)) std::ranges::sort(all, {}, &Choice::id);
  return all;
}

TokenId choose(std::span<const Choice> choices, double uniform) {
  double reached = 0;
  for (const Choice& choice : choices) {
    reached += choice.probability;
    if (uniform < reached) return choice.id;
  }
  // Rounding left the sum below `uniform`: the last choice with a nonzero probability.
  const auto last = std::ranges::find_if(choices.rbegin(), choices.rend(),
                                         [](const Choice& c) { return c.probability > 0; });
  return last->id;
}

double sampling_number(std::uint64_t seed, std::int64_t position) {
  const auto place = static_cast<std::uint64_t>(position);
  const PhiloxCounter words = philox(
      {static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32), kStream, 0},
      philox_key(seed));
  const std::uint64_t bits = std::uint64_t{words[0]} << 32 | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace heed
