// Checks the ranges of the keys, and their combinations.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/train.h"
#include "train/adamw.h"
#include "train/generated/generator.h"

namespace heed {
namespace {

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

[[noreturn]] void refuse(std::string_view key, Phrase found, Phrase expected,
                         ErrorCode code = ErrorCode::kInvalidArgument) {
  fail("train", key, std::move(found), std::move(expected), code);
}

using C = TrainConfig;

std::string_view name_of(const TrainKey::Member& member) {
  return std::ranges::find(train_keys(), member, &TrainKey::member)->name;
}

void at_least(std::int64_t least, const C& c, std::initializer_list<std::int64_t C::*> members) {
  for (const auto member : members)
    if (c.*member < least) refuse(name_of(member), c.*member, fmt::format("at least {}", least));
}

void below(double limit, const C& c, std::initializer_list<double C::*> members) {
  for (const auto member : members)
    if (!(c.*member >= 0 && c.*member < limit))
      refuse(name_of(member), c.*member, fmt::format("at least 0 and below {}", limit));
}

void one_of(const std::string& value, std::initializer_list<std::string_view> known,
            std::string_view key) {
  if (std::ranges::find(known, value) == known.end())
    refuse(key, quoted(value), joined(known, " or "));
}

// Per pass: beyond it, the logits alone do not fit in a machine's memory.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

constexpr std::int64_t kLongestGenerated = 4096;
constexpr std::int64_t kMostStories = 10'000'000;

constexpr std::int64_t kMostPasses = 4096;  // Ctrl-C abandons at most one step

void check_data(const TrainConfig& c) {
  if (c.generate.empty()) {
    if (c.data.empty()) refuse("data", "", "at least one text file");
    if (c.generate_length > 0)
      refuse("generate_length", c.generate_length, "0: generate is not given");
  } else {
    const auto name_of = [](const GeneratorEntry& entry) { return entry.name; };
    if (std::ranges::find(generators(), c.generate, name_of) == generators().end())
      refuse("generate", quoted(c.generate), joined(generators(), ", ", name_of));
    if (!c.data.empty()) refuse("data", "given beside generate", "one of them");
  }
  const bool pairs = c.task == "seq2seq" && c.generate.empty();
  if (pairs && c.targets.empty()) refuse("targets", "", "a file with a line for each line of data");
  if (!pairs && !c.targets.empty())
    refuse("targets", "given", "none: of task \"seq2seq\" with data alone");
}

// Keys about texts have no effect on batches of token ids.
void check_batches_keys(const TrainConfig& c) {
  const TrainConfig usual;
  if (c.task != usual.task)
    refuse("task", quoted(c.task), "\"lm\" with batches, which hold token ids alone");
  const auto none = [](bool changed, std::string_view key) {
    if (changed) refuse(key, "given beside batches", "one of them");
  };
  none(!c.data.empty(), "data");
  none(!c.targets.empty(), "targets");
  none(!c.generate.empty() || c.generate_length != 0, "generate");
  none(c.stories != 0, "stories");
  none(c.rejoin_lines, "rejoin_lines");
  none(c.add_bos_token, "add_bos_token");
  none(c.validation != usual.validation, "validation");
  none(!c.validation_data.empty(), "validation_data");
  none(c.epochs != 0, "epochs");
  none(c.repeats != 0, "repeats");
  none(c.random_repeats != 0, "random_repeats");
  at_least(2, c, {&C::vocabulary});
  if (learns_pieces(c.tokenizer))
    refuse("tokenizer", quoted(c.tokenizer), "a tokenizer's file, as batches hold no text");
  if (c.sample_every > 0 && c.tokenizer == usual.tokenizer && c.start_from.empty())
    refuse("sample_every", c.sample_every, "0 without a tokenizer");
}

// Keys of another task are errors instead of being ignored.
void check_task_keys(const TrainConfig& c) {
  const TrainConfig usual;
  const auto of_task = [&](bool changed, std::string_view task, std::string_view key,
                           Phrase found) {
    if (changed && c.task != task)
      refuse(key, std::move(found),
             fmt::format("none: it is of task \"{}\", and this is \"{}\"", task, c.task));
  };
  of_task(c.whole_words, "mlm", "whole_words", "true");
  of_task(c.pairs != 0, "mlm", "pairs", c.pairs);
  of_task(c.mask_share != usual.mask_share, "mlm", "mask_share", c.mask_share);
  of_task(!c.target_tokenizer.empty(), "seq2seq", "target_tokenizer", quoted(c.target_tokenizer));
  of_task(c.repeats != 0, "lm", "repeats", c.repeats);
  of_task(c.add_bos_token, "lm", "add_bos_token", "true");
  of_task(c.random_repeats != 0, "lm", "random_repeats", c.random_repeats);
  of_task(c.label != usual.label, "classify", "label", quoted(c.label));
  const bool reads_text = c.generate.empty() && (c.task == "lm" || c.task == "mlm");
  if (c.stories != 0 && !reads_text)
    refuse("stories", c.stories, "0: they are of the tasks lm and mlm on texts");
  if (c.add_bos_token && !c.generate.empty())
    refuse("add_bos_token", "true", "false: what is generated is not cut from a text");
  for (const auto& [key, share] :
       {std::pair("repeats", c.repeats), std::pair("random_repeats", c.random_repeats)})
    if (share != 0 && !c.generate.empty())
      refuse(key, share, "0: what is generated is not cut from a text");
  one_of(c.label, {"token", "text"}, "label");
}

// Keys that would have no effect together.
void check_epochs(const TrainConfig& c) {
  at_least(0, c, {&C::epochs});
  if (c.epochs == 0) return;
  const TrainConfig usual;
  if (c.steps != usual.steps) refuse("steps", c.steps, "none beside epochs, which decide them");
  if (!c.generate.empty()) refuse("epochs", c.epochs, "0: what is generated has no end");
  if (c.repeats != 0 || c.random_repeats != 0)
    refuse("epochs", c.epochs, "0: repeats stand in the place of examples");
}

void check_validation_data(const TrainConfig& c) {
  if (c.validation_data.empty()) return;
  const TrainConfig usual;
  const bool reads_text = c.generate.empty() && (c.task == "lm" || c.task == "mlm");
  if (!reads_text)
    refuse("validation_data", "given", "none: it is of the tasks lm and mlm on texts");
  if (c.validation != usual.validation)
    refuse("validation", c.validation, "none beside validation_data, which takes its place");
}

void check_least(const TrainConfig& c) {
  at_least(1, c,
           {&C::steps, &C::batch, &C::accumulate, &C::layers, &C::heads, &C::width, &C::block});
  at_least(0, c, {&C::warmup, &C::decay, &C::stories, &C::patience, &C::generate_length, &C::seed});
  at_least(1, c, {&C::evaluate_every});
  at_least(0, c, {&C::evaluate_sequences});
  at_least(1, c, {&C::checkpoint_every});
  at_least(0, c, {&C::sample_every});
}

void check_counts(const TrainConfig& c) {
  check_least(c);
  if (c.stories > kMostStories)
    refuse("stories", c.stories, fmt::format("at most {}", kMostStories));
  if (c.batch > kMostTokens / c.block)
    refuse("batch", c.batch,
           fmt::format("at most {} of {} (block) in one pass",
                       number_of(kMostTokens / c.block, "sequence"), number_of(c.block, "token")));
  if (c.accumulate > kMostPasses)
    refuse("accumulate", c.accumulate, fmt::format("at most {} passes in one step", kMostPasses));
  if (c.decay > 0 && (c.schedule == "cosine" || c.schedule == "linear"))
    refuse("decay", c.decay,
           fmt::format("0: \"{}\" falls from the warm-up to the last step", c.schedule));
  if (c.generate_length > kLongestGenerated)
    refuse("generate_length", c.generate_length, fmt::format("at most {}", kLongestGenerated));
  if (c.width % c.heads != 0)
    refuse("heads", c.heads, fmt::format("a divisor of width ({})", c.width));
}

void check_rates(const TrainConfig& c) {
  constexpr double kAny = 1e38;  // the kernels compute in f32
  below(1, c,
        {&C::validation, &C::dropout, &C::attention_dropout, &C::label_smoothing, &C::repeats,
         &C::random_repeats, &C::pairs});
  if (!(c.mask_share > 0 && c.mask_share < 1))
    refuse("mask_share", c.mask_share, "above 0 and below 1");
  below(kAny, c, {&C::learning_rate, &C::final_learning_rate});
  below(1, c, {&C::beta1, &C::beta2});
  below(kAny, c, {&C::epsilon, &C::weight_decay, &C::clip});
}

void check_model_entries(const std::string& entries) {
  const auto refuse_entries = [&] {
    refuse("model", quoted(clipped(entries)),
           "a JSON object of entries for config.json, as {\"model_type\": \"llama\"} (start_from "
           "names a model to begin with)");
  };
  try {
    if (!JsonText::parse(entries, {.file = "model"}).root().is_object()) refuse_entries();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCorrupt) refuse_entries();
    throw;
  }
}

}  // namespace

void check(const TrainConfig& config, bool batches) {
  one_of(config.task, {"lm", "mlm", "seq2seq", "classify"}, "task");
  if (batches)
    check_batches_keys(config);
  else
    check_data(config);
  check_task_keys(config);
  check_epochs(config);
  check_validation_data(config);
  one_of(config.dtype, {"f32", "f16", "bf16"}, "dtype");
  one_of(config.precision, {"f32", "bf16"}, "precision");
  one_of(config.recompute, {"none", "attention", "block"}, "recompute");
  one_of(config.initial_positions, {"random", "sinusoidal", "zero"}, "initial_positions");
  one_of(config.schedule, {"cosine", "linear", "inverse-sqrt", "constant"}, "schedule");
  check_model_entries(config.model);
  parse_parameter_groups(config.groups);
  check_counts(config);
  check_rates(config);
}

}  // namespace heed
