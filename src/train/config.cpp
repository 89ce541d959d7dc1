#include "heed/train/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/clipped.h"
#include "base/edit_distance.h"
#include "base/json.h"
#include "heed/base/error.h"

namespace heed {
namespace {

const TrainKey& find_key(const JsonText& file, const Json::Member& member) {
  const auto keys = train_keys();
  const auto found = std::ranges::find(keys, member.first, &TrainKey::name);
  if (found != keys.end()) return *found;
  const auto nearest = std::ranges::min_element(
      keys, {}, [&](const TrainKey& key) { return edit_distance(member.first, key.name); });
  fail({.file = file.file(),
        .place = file.place(member.second),
        .found = fmt::format("unknown key \"{}\"", member.first),
        .hint = fmt::format("the nearest known one is \"{}\"", nearest->name)});
}

template <typename T>
constexpr std::string_view kWanted = "a whole number";
template <>
constexpr std::string_view kWanted<bool> = "true or false";
template <>
constexpr std::string_view kWanted<double> = "a number";
template <>
constexpr std::string_view kWanted<std::string> = "a text";
template <>
constexpr std::string_view kWanted<std::vector<std::string>> = "a list of texts";

std::optional<std::vector<std::string>> as_texts(const Json& value) {
  std::vector<std::string> texts;
  for (const Json& item : value.items())
    if (item.is_text()) texts.push_back(*item.as_text());
  if (!value.is_array() || texts.size() != value.items().size()) return std::nullopt;
  return texts;
}

template <typename T>
std::optional<T> as(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) return value.as_flag();
  if constexpr (std::is_same_v<T, std::int64_t>) return value.as_integer();
  if constexpr (std::is_same_v<T, double>) return value.as_number();
  if constexpr (std::is_same_v<T, std::string>)
    return value.is_text() ? std::optional(*value.as_text()) : std::nullopt;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return as_texts(value);
}

void read_key(TrainConfig& config, const TrainKey& key, const JsonText& file, const Json& value) {
  const auto refuse = [&](std::string_view wanted) {
    file.refuse(value, key.name, wanted, ErrorCode::kInvalidArgument);
  };
  if (key.name == "model") {  // an object in the file, its text in the struct
    if (!value.is_object()) refuse("an object");
    config.model = value.dump();
    return;
  }
  const auto read = [&]<typename T>(T TrainConfig::* member) {
    const std::optional<T> found = as<T>(value);
    if (!found) refuse(kWanted<T>);
    config.*member = *found;
  };
  std::visit(read, key.member);
}

}  // namespace

TrainConfig parse_train_config(std::string_view text, std::string_view origin) {
  const JsonText file =
      JsonText::parse(std::string(text), {.file = std::string(origin), .unique_keys = true});
  if (!file.root().is_object()) file.refuse(file.root(), "the whole", "a JSON object");
  TrainConfig config;
  for (const Json::Member& member : file.root().members())
    read_key(config, find_key(file, member), file, member.second);
  return config;
}

std::string to_json(const TrainConfig& config) {
  Json json;
  for (const TrainKey& key : train_keys())
    std::visit([&](auto member) { json.add(std::string(key.name), config.*member); }, key.member);
  json.set("model", JsonText::parse(config.model, {.file = "train: model"}).root());
  return json.dump(2) + "\n";
}

namespace {

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

[[noreturn]] void refuse(std::string_view key, Phrase found, Phrase expected,
                         ErrorCode code = ErrorCode::kInvalidArgument) {
  fail({.code = code,
        .op = "train",
        .argument = key,
        .found = std::move(found),
        .expected = std::move(expected)});
}

void at_least(std::int64_t value, std::int64_t least, std::string_view key) {
  if (value < least) refuse(key, value, fmt::format("at least {}", least));
}

void between(double value, double least, double limit, std::string_view key) {
  if (!(value >= least && value < limit))
    refuse(key, value, fmt::format("at least {} and below {}", least, limit));
}

void one_of(const std::string& value, std::initializer_list<std::string_view> known,
            std::string_view key) {
  if (std::ranges::find(known, value) == known.end())
    refuse(key, quoted(value), fmt::format("{}", fmt::join(known, " or ")));
}

// Of one pass: beyond it its logits alone do not fit into a machine's memory.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

constexpr std::int64_t kMostPasses = 4096;  // what Ctrl-C leaves undone is a step

void check_counts(const TrainConfig& c) {
  at_least(c.steps, 1, "steps");
  at_least(c.batch, 1, "batch");
  at_least(c.accumulate, 1, "accumulate");
  at_least(c.layers, 1, "layers");
  at_least(c.heads, 1, "heads");
  at_least(c.width, 1, "width");
  at_least(c.block, 1, "block");
  at_least(c.warmup, 0, "warmup");
  at_least(c.seed, 0, "seed");
  at_least(c.evaluate_every, 1, "evaluate_every");
  at_least(c.evaluate_batches, 0, "evaluate_batches");
  at_least(c.checkpoint_every, 1, "checkpoint_every");
  at_least(c.sample_every, 0, "sample_every");
  if (c.batch > kMostTokens / c.block)
    refuse("batch", c.batch,
           fmt::format("at most {} sequences of {} tokens (block) in one pass",
                       kMostTokens / c.block, c.block));
  if (c.accumulate > kMostPasses)
    refuse("accumulate", c.accumulate, fmt::format("at most {} passes in one step", kMostPasses));
  if (c.width % c.heads != 0)
    refuse("heads", c.heads, fmt::format("a divisor of width ({})", c.width));
}

void check_rates(const TrainConfig& c) {
  constexpr double kAny = 1e38;  // the kernels compute in f32
  between(c.validation, 0, 1, "validation");
  between(c.dropout, 0, 1, "dropout");
  between(c.repeats, 0, 1, "repeats");
  between(c.learning_rate, 0, kAny, "learning_rate");
  between(c.final_learning_rate, 0, kAny, "final_learning_rate");
  between(c.beta1, 0, 1, "beta1");
  between(c.beta2, 0, 1, "beta2");
  between(c.epsilon, 0, kAny, "epsilon");
  between(c.weight_decay, 0, kAny, "weight_decay");
  between(c.clip, 0, kAny, "clip");
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

void check(const TrainConfig& config) {
  if (config.task == "mlm" || config.task == "seq2seq")
    refuse("task", quoted(config.task), "\"lm\": this task is not served yet",
           ErrorCode::kUnsupported);
  if (config.task != "lm") refuse("task", quoted(config.task), "\"lm\"");
  if (config.data.empty()) refuse("data", "", "at least one text file");
  one_of(config.dtype, {"f32", "f16", "bf16"}, "dtype");
  one_of(config.initial_positions, {"random", "sinusoidal"}, "initial_positions");
  check_model_entries(config.model);
  check_counts(config);
  check_rates(config);
}

}  // namespace heed
