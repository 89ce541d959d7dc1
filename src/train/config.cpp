#include "heed/train/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/edit_distance.h"
#include "heed/base/error.h"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

const TrainKey& find_key(std::string_view name, std::string_view origin) {
  const auto keys = train_keys();
  const auto found = std::ranges::find(keys, name, &TrainKey::name);
  if (found != keys.end()) return *found;
  const auto nearest = std::ranges::min_element(
      keys, {}, [&](const TrainKey& key) { return edit_distance(name, key.name); });
  fail(ErrorCode::kInvalidArgument, "{}: unknown key \"{}\"; the nearest known one is \"{}\"",
       origin, name, nearest->name);
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

template <typename T>
bool fits(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) return value.is_boolean();
  if constexpr (std::is_same_v<T, std::int64_t>) return value.is_number_integer();
  if constexpr (std::is_same_v<T, double>) return value.is_number();
  if constexpr (std::is_same_v<T, std::string>) return value.is_string();
  if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return value.is_array() &&
           std::ranges::all_of(value, [](const Json& e) { return e.is_string(); });
}

template <typename T>
void read(TrainConfig& config, T TrainConfig::* member, const Json& value, std::string_view name,
          std::string_view origin) {
  require(fits<T>(value), "{}: \"{}\" is {}, expected {}", origin, name, value.dump(), kWanted<T>);
  config.*member = value.get<T>();
}

void read_key(TrainConfig& config, const TrainKey& key, const Json& value,
              std::string_view origin) {
  if (key.name == "model") {  // an object in the file, its text in the struct
    require(value.is_object(), "{}: \"model\" is {}, expected an object", origin, value.dump());
    config.model = value.dump();
    return;
  }
  std::visit([&](auto member) { read(config, member, value, key.name, origin); }, key.member);
}

Json parse_json(std::string_view text, std::string_view origin) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    fail(ErrorCode::kInvalidArgument, "{}: not JSON: unexpected at byte {}", origin, error.byte);
  }
}

}  // namespace

TrainConfig parse_train_config(std::string_view text, std::string_view origin) {
  const Json json = parse_json(text, origin);
  require(json.is_object(), "{}: {}, expected a JSON object", origin, json.type_name());
  TrainConfig config;
  for (const auto& [name, value] : json.items())
    read_key(config, find_key(name, origin), value, origin);
  return config;
}

std::string to_json(const TrainConfig& config) {
  Json json;
  for (const TrainKey& key : train_keys()) {
    const std::string name(key.name);
    std::visit([&](auto member) { json[name] = config.*member; }, key.member);
  }
  json["model"] = Json::parse(config.model);
  return json.dump(2) + "\n";
}

namespace {

void at_least(std::int64_t value, std::int64_t least, std::string_view key) {
  require(value >= least, "train: {} is {}, expected at least {}", key, value, least);
}

void between(double value, double least, double limit, std::string_view key) {
  require(value >= least && value < limit, "train: {} is {}, expected at least {} and below {}",
          key, value, least, limit);
}

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
  require(c.width % c.heads == 0, "train: width is {} and heads is {}: heads must divide width",
          c.width, c.heads);
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

}  // namespace

void check(const TrainConfig& config) {
  if (config.task == "mlm" || config.task == "seq2seq")
    fail(ErrorCode::kUnsupported, "train: task \"{}\" is not served yet, expected \"lm\"",
         config.task);
  require(config.task == "lm", "train: task is \"{}\", expected \"lm\"", config.task);
  require(!config.data.empty(), "train: no data, expected at least one text file (--data FILE)");
  require(config.dtype == "f32" || config.dtype == "f16" || config.dtype == "bf16",
          "train: dtype is \"{}\", expected f32, f16 or bf16", config.dtype);
  require(config.initial_positions == "random" || config.initial_positions == "sinusoidal",
          "train: initial_positions is \"{}\", expected random or sinusoidal",
          config.initial_positions);
  const Json model = Json::parse(config.model, nullptr, false);
  require(model.is_object(), "train: model is {}, expected a JSON object", config.model);
  check_counts(config);
  check_rates(config);
}

}  // namespace heed
