#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/train.h"

namespace heed {
namespace {

// The keys' names in other programs.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
    {"lr", "learning_rate"},
    {"min_lr", "final_learning_rate"},
    {"n_layer", "layers"},
    {"n_layers", "layers"},
    {"num_layers", "layers"},
    {"n_head", "heads"},
    {"n_heads", "heads"},
    {"n_embd", "width"},
    {"d_model", "width"},
    {"hidden_size", "width"},
    {"block_size", "block"},
    {"context", "block"},
    {"max_iters", "steps"},
    {"max_steps", "steps"},
    {"iters", "steps"},
    {"num_train_epochs", "epochs"},
    {"num_epochs", "epochs"},
    {"batch_size", "batch"},
    {"warmup_iters", "warmup"},
    {"warmup_steps", "warmup"},
    {"eval_interval", "evaluate_every"},
    {"eval_iters", "evaluate_sequences"},
    {"evaluate_batches", "evaluate_sequences"},
    {"eval_steps", "evaluate_every"},
    {"grad_clip", "clip"},
    {"max_grad_norm", "clip"},
    {"per_device_train_batch_size", "batch"},
    {"gradient_accumulation_steps", "accumulate"},
    {"vocab_size", "vocabulary"}};

const TrainKey& find_key(const JsonText& file, const Json::Member& member) {
  const auto keys = train_keys();
  const auto found = std::ranges::find(keys, member.first, &TrainKey::name);
  if (found != keys.end()) return *found;
  for (const auto& [theirs, ours] : kElsewhere)
    if (theirs == member.first)
      fail({.file = file.file(),
            .place = file.place(member.second),
            .found = fmt::format("unknown key \"{}\"", member.first),
            .hint = fmt::format("did you mean {}?", ours)});
  const auto distance = [&](const TrainKey& key) { return edit_distance(member.first, key.name); };
  const auto nearest = std::ranges::min_element(keys, {}, distance);
  const bool is_near = distance(*nearest) <= member.first.size() / 2;
  fail({.file = file.file(),
        .place = file.place(member.second),
        .found = fmt::format("unknown key \"{}\"", member.first),
        .hint = is_near ? fmt::format("the nearest known one is \"{}\"", nearest->name)
                        : "heed train --help lists the keys, as options"});
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
  if constexpr (std::is_same_v<T, std::int64_t>) return value.as_whole_number();
  if constexpr (std::is_same_v<T, double>) return value.as_number();
  if constexpr (std::is_same_v<T, std::string>)
    return value.is_text() ? std::optional(*value.as_text()) : std::nullopt;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return as_texts(value);
}

void read_key(TrainConfig& config, const TrainKey& key, const JsonText& file, const Json& value) {
  const auto refuse = [&](std::string_view wanted) {
    file.refuse(value, key.name, wanted, ErrorCode::kInvalidArgument);
  };
  if (key.name == "model" || key.name == "groups") {  // JSON in the file, text in the struct
    const bool fits = key.name == "model" ? value.is_object() : value.is_array();
    if (!fits) refuse(key.name == "model" ? "an object" : "a list");
    (key.name == "model" ? config.model : config.groups) = value.dump();
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

std::vector<std::string_view> names_elsewhere(const TrainKey& key) {
  std::vector<std::string_view> names;
  for (const auto& [theirs, ours] : kElsewhere)
    if (ours == key.name) names.push_back(theirs);
  return names;
}

std::string to_json(const TrainConfig& config) {
  Json json;
  for (const TrainKey& key : train_keys())
    std::visit([&](auto member) { json.add(std::string(key.name), config.*member); }, key.member);
  json.set("model", JsonText::parse(config.model, {.file = "train: model"}).root());
  json.set("groups", JsonText::parse(config.groups, {.file = "train: groups"}).root());
  return json.dump(2) + "\n";
}

bool learns_pieces(std::string_view tokenizer) {
  return tokenizer == "byte-bpe" || tokenizer == "word-piece";
}

}  // namespace heed
