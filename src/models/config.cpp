#include "models/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/wording.h"

namespace heed {
namespace {

constexpr const char* kHeadsKey = "num_attention_heads";
constexpr const char* kLayersKey = "num_hidden_layers";
constexpr const char* kWidthKey = "hidden_size";
constexpr const char* kPositionsKey = "max_position_embeddings";

// Other names of a family's keys. Like in transformers, the other name takes precedence if a file
// has both; an older one does not.
struct OtherNames {
  std::vector<std::string_view> model_types;
  std::vector<std::pair<std::string_view, const char*>> names;  // the family's, the other
  bool are_older = false;
};

const std::vector<OtherNames>& all_other_names() {
  static const std::vector<OtherNames> all = {
      {{"gpt2", "gptj"},
       {{"n_embd", kWidthKey},
        {"n_head", kHeadsKey},
        {"n_layer", kLayersKey},
        {"n_positions", kPositionsKey}}},
      {{"gpt_neo"}, {{"num_heads", kHeadsKey}, {"num_layers", kLayersKey}}},
      {{"bloom"}, {{"n_head", kHeadsKey}, {"n_layer", kLayersKey}}},
      {{"distilbert"}, {{"dim", kWidthKey}, {"n_heads", kHeadsKey}, {"n_layers", kLayersKey}}},
      {{"marian", "blenderbot", "bart", "mbart", "m2m_100", "pegasus"},
       {{"d_model", kWidthKey},
        {"encoder_attention_heads", kHeadsKey},
        {"encoder_layers", kLayersKey}}},
      {{"t5", "mt5", "umt5"},
       {{"d_model", kWidthKey},
        {"d_kv", "head_dim"},
        {"num_heads", kHeadsKey},
        {"num_layers", kLayersKey}}},
      {{"nomic_bert"},
       {{kWidthKey, "n_embd"},
        {kHeadsKey, "n_head"},
        {kLayersKey, "n_layer"},
        {kPositionsKey, "n_positions"},
        {"intermediate_size", "n_inner"},
        {"layer_norm_eps", "layer_norm_epsilon"},
        {"rope_theta", "rotary_emb_base"}},
       /*are_older=*/true}};
  return all;
}

// The key of `object` that counts as `key`.
const char* name_in(const Json& object, const char* key) {
  const std::string* type = object["model_type"].as_text();
  if (type == nullptr) return key;
  for (const OtherNames& family : all_other_names()) {
    if (std::ranges::find(family.model_types, *type) == family.model_types.end()) continue;
    for (const auto& [own, other] : family.names)
      if (own == key && !object[other].is_null() && !(family.are_older && object.has(own)))
        return other;
  }
  return key;
}

}  // namespace

Config Config::parse(std::string_view text, std::string source, std::string_view expected) {
  Config config;
  config.json_ = std::make_shared<const JsonText>(
      JsonText::parse(std::string(text), {.file = std::move(source), .unique_keys = true}));
  config.node_ = &config.json_->root();
  if (!config.node_->is_object()) config.json_->refuse(*config.node_, "the whole", expected);
  return config;
}

Config Config::made(std::string_view text, std::string source) {
  Config config = parse(text, std::move(source));
  config.has_places_ = false;
  return config;
}

void Config::prefer_ids_of(Config generation) {
  generation_ = std::make_shared<const Config>(std::move(generation));
}

void Config::refuse(const char* key, Phrase found, Phrase expected, ErrorCode code) const {
  const char* name = name_in(*node_, key);
  fail({.code = code,
        .file = json_->file(),
        .place = has_places_ ? json_->place(at(name)) : "",
        .argument = path_ + name,
        .found = std::move(found),
        .expected = std::move(expected)});
}

void Config::refuse(const char* key, Phrase expected) const {
  const char* name = name_in(*node_, key);
  refuse(key, node_->has(name) ? at(name).brief() : "", std::move(expected));
}

const Json* Config::find(const char* key) const {
  asked_->emplace(key);
  const Json& value = at(name_in(*node_, key));
  return value.is_null() ? nullptr : &value;
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : node_->members()) keys.push_back(key);
  return keys;
}

bool Config::is_empty(const char* key) const {
  const Json& value = at(key);
  return value.is_null() || (value.is_array() && value.items().empty()) ||
         (value.is_object() && value.members().empty());
}

std::int64_t Config::extent(const char* key, std::int64_t otherwise, std::int64_t least,
                            std::int64_t most) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  const std::optional<std::int64_t> number = value->as_whole_number();
  if (!number || *number < least || *number > most)
    refuse(key, fmt::format("a whole number, {} to {}", least, most));
  return *number;
}

std::int64_t Config::heads(const char* key, std::int64_t otherwise) const {
  if (null(key)) refuse(key, "null", "a number of heads");
  return extent(key, otherwise);
}

std::int64_t Config::id(const char* key, std::int64_t otherwise) const {
  if (generation_ && generation_->has(key)) return generation_->id(key, otherwise);
  return own_id(key, otherwise);
}

std::int64_t Config::own_id(const char* key, std::int64_t otherwise) const {
  if (!node_->has(key)) return otherwise;
  const std::vector<std::int64_t> found = own_ids(key, {});
  return found.empty() ? -1 : found.front();
}

std::vector<std::int64_t> Config::ids(const char* key, std::vector<std::int64_t> otherwise) const {
  if (generation_ && generation_->has(key)) return generation_->ids(key, std::move(otherwise));
  return own_ids(key, std::move(otherwise));
}

std::vector<std::int64_t> Config::own_ids(const char* key,
                                          std::vector<std::int64_t> otherwise) const {
  const Json& value = at(key);
  if (value.is_null()) return node_->has(key) ? std::vector<std::int64_t>() : otherwise;
  const std::span<const Json> listed =
      value.is_array() ? value.items() : std::span<const Json>(&value, 1);
  std::vector<std::int64_t> ids;
  for (const Json& item : listed) {
    const std::optional<std::int64_t> number = item.as_whole_number();
    if (!number) refuse(key, "a token id, a list of them or null");
    if (*number >= 0) ids.push_back(*number);
  }
  return ids;
}

std::vector<std::vector<std::int64_t>> Config::bad_words() const {
  constexpr const char* kKey = "bad_words_ids";
  if (generation_) return generation_->bad_words();
  const Json* value = find(kKey);
  if (value == nullptr) return {};
  constexpr const char* kExpected = "a list of lists of token ids";
  if (!value->is_array()) refuse(kKey, kExpected);
  std::vector<std::vector<std::int64_t>> all;
  for (const Json& word : value->items()) {
    all.emplace_back();
    for (const Json& item : word.items()) {
      const std::optional<std::int64_t> id = item.as_whole_number();
      if (!id || *id < 0) refuse(kKey, kExpected);
      all.back().push_back(*id);
    }
    if (all.back().empty()) refuse(kKey, kExpected);
  }
  return all;
}

double Config::number(const char* key, double otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  const std::optional<double> number = value->as_number();
  if (!number) refuse(key, "a number");
  return *number;
}

double Config::positive(const char* key, double otherwise) const {
  const double value = number(key, otherwise);
  if (!(value > 0 && value < 1e300)) refuse(key, value, "a number above 0");
  return value;
}

double Config::not_negative(const char* key, double otherwise) const {
  const double value = number(key, otherwise);
  if (!(value >= 0 && value < 1e300)) refuse(key, value, "0 or more");
  return value;
}

double Config::rate(const char* key, double otherwise) const {
  const double value = number(key, otherwise);
  if (!(value >= 0 && value < 1)) refuse(key, value, "0 or more and below 1");
  return value;
}

bool Config::flag(const char* key, bool otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  const std::optional<bool> flag = value->as_flag();
  if (!flag) refuse(key, "true or false");
  return *flag;
}

std::string Config::text(const char* key, std::string_view otherwise) const {
  const Json* value = find(key);
  if (value != nullptr && !value->is_text()) refuse(key, "a text");
  return value == nullptr ? std::string(otherwise) : *value->as_text();
}

namespace {

// The first name of an activation is the one that heed shows.
constexpr std::pair<std::string_view, Activation> kActivations[] = {
    {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"relu2", Activation::kSquaredRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"quick_gelu", Activation::kQuickGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"gelu_10", Activation::kClippedGelu},
    {"hardswish", Activation::kHardSwish},
    {"laplace", Activation::kLaplace},
    {"leaky_relu", Activation::kLeakyRelu},
    {"linear", Activation::kLinear},
    {"mish", Activation::kMish},
    {"relu6", Activation::kRelu6},
    {"sigmoid", Activation::kSigmoid},
    {"tanh", Activation::kTanh}};

}  // namespace

Activation Config::activation_of(const char* key, std::string_view wanted) const {
  for (const auto& [name, activation] : kActivations)
    if (name == wanted) return activation;
  refuse(key, fmt::format("'{}'", wanted),
         "one of: " + joined(kActivations | std::views::keys, ", "), ErrorCode::kUnsupported);
}

std::string_view activation_name(Activation activation) {
  return std::ranges::find(kActivations, activation, [](const auto& row) { return row.second; })
      ->first;
}

Activation Config::activation(const char* key, std::string_view otherwise) const {
  return activation_of(key, text(key, otherwise));
}

std::vector<std::string> Config::texts(const char* key) const {
  std::vector<std::string> texts;
  const Json* value = find(key);
  if (value == nullptr) return texts;
  if (!value->is_array()) refuse(key, "a list of texts");
  for (const Json& item : value->items()) {
    if (!item.is_text()) refuse(key, "a list of texts");
    texts.push_back(*item.as_text());
  }
  return texts;
}

std::vector<std::string> Config::repeated_texts(const char* key, std::int64_t most) const {
  const Json* value = find(key);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  const std::string expected = fmt::format(
      "lists of texts and how often each repeats, at most {} texts: [[[\"a\", \"b\"], 2]]", most);
  if (!value->is_array()) refuse(key, expected);
  for (const Json& entry : value->items()) {
    const std::span<const Json> pair = entry.items();
    const std::optional<std::int64_t> count =
        pair.size() == 2 ? pair[1].as_whole_number() : std::nullopt;
    if (!count || *count < 0 || *count > most) refuse(key, expected);
    for (std::int64_t i = 0; i < *count; ++i)
      for (const Json& text : pair[0].items()) {
        if (!text.is_text() || std::ssize(texts) == most) refuse(key, expected);
        texts.push_back(*text.as_text());
      }
  }
  return texts;
}

std::vector<double> Config::positives(const char* key, std::int64_t count) const {
  const Json* value = find(key);
  const std::string expected = fmt::format("a list of {} numbers above 0", count);
  if (value == nullptr || !value->is_array()) refuse(key, expected);
  std::vector<double> numbers;
  for (const Json& item : value->items()) {
    const std::optional<double> number = item.as_number();
    if (!number || !(*number > 0)) refuse(key, expected);
    numbers.push_back(*number);
  }
  if (std::ssize(numbers) != count)
    refuse(key, fmt::format("a list of {}", numbers.size()), expected);
  return numbers;
}

std::optional<Config> Config::part(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_object()) refuse(key, "an object");
  Config part = *this;
  part.node_ = value;
  part.path_ = path_ + key + ".";
  part.generation_ = {};
  return part;
}

Config Config::updated(const Config& other) const {
  Config updated = *this;
  updated.json_ = std::make_shared<const JsonText>(
      JsonText::parse(with(*other.node_), {.file = json_->file() + " (merged)"}));
  updated.node_ = &updated.json_->root();
  return updated;
}

std::string Config::with(const Json& members) const {
  Json json = *node_;
  for (const auto& [key, value] : members.members()) json.set(key, value);
  return json.dump(2) + "\n";
}

}  // namespace heed
