#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/train.h"

namespace heed {
namespace {

// The keys' names in other programs.
const std::map<std::string_view, std::vector<std::string_view>>& all_elsewhere() {
  static const std::map<std::string_view, std::vector<std::string_view>> all = {
      {"learning_rate", {"lr"}},
      {"final_learning_rate", {"min_lr"}},
      {"layers", {"n_layer", "n_layers", "num_layers"}},
      {"heads", {"n_head", "n_heads"}},
      {"width", {"n_embd", "d_model", "hidden_size"}},
      {"block", {"block_size", "context"}},
      {"steps", {"max_iters", "max_steps", "iters"}},
      {"epochs", {"num_train_epochs", "num_epochs"}},
      {"batch", {"batch_size", "per_device_train_batch_size"}},
      {"warmup", {"warmup_iters", "warmup_steps"}},
      {"evaluate_every", {"eval_interval", "eval_steps"}},
      {"evaluate_sequences", {"eval_iters", "evaluate_batches"}},
      {"clip", {"grad_clip", "max_grad_norm"}},
      {"accumulate", {"gradient_accumulation_steps"}},
      {"vocabulary", {"vocab_size"}}};
  return all;
}

const TrainKey& find_key(const JsonText& file, const Json::Member& member) {
  const auto keys = train_keys();
  const auto found = std::ranges::find(keys, member.first, &TrainKey::name);
  if (found != keys.end()) return *found;
  for (const auto& [ours, theirs] : all_elsewhere())
    if (std::ranges::find(theirs, member.first) != theirs.end())
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
  const auto found = all_elsewhere().find(key.name);
  return found == all_elsewhere().end() ? std::vector<std::string_view>() : found->second;
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
