#include <fmt/format.h>

#include <algorithm>
#include <array>
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

namespace {

// The table of keys: a new key is added here, and as a member of the struct.
using C = TrainConfig;

constexpr TrainKey kKeys[] = {
    {"task", &C::task, "lm, mlm, seq2seq or classify"},
    {"data", &C::data, "text files, or folders of .txt files", false},
    {"targets", &C::targets, "seq2seq: files with one line per line of data", false},
    {"generate", &C::generate,
     "a task that heed generates instead of data: reverse, copy, sort, add, anomaly, "
     "induction or pronoun"},
    {"generate_length", &C::generate_length,
     "length of the generated examples; 0: the usual length"},
    {"mask_share", &C::mask_share, "mlm: share of the tokens to predict"},
    {"pairs", &C::pairs, "mlm: share of the examples that are pairs of texts"},
    {"whole_words", &C::whole_words, "mlm: mask all tokens of a word together"},
    {"label", &C::label, "classify: token or text, what a label is for"},
    {"stories", &C::stories, "lm and mlm: number of short stories that heed generates to train on"},
    {"rejoin_lines", &C::rejoin_lines, "join wrapped lines into one line per paragraph"},
    {"add_bos_token", &C::add_bos_token,
     "lm: begin each sequence with the tokenizer's first token, as in <s>"},
    {"validation", &C::validation, "share at the end of each file kept for validation"},
    {"validation_data", &C::validation_data,
     "lm and mlm: text files to validate on; all of data is then for training"},
    {"tokenizer", &C::tokenizer, "characters, byte-bpe, word-piece, or a file"},
    {"target_tokenizer", &C::target_tokenizer,
     "seq2seq: the tokenizer of the targets; without it both share one"},
    {"vocabulary", &C::vocabulary, "pieces of a byte-bpe or word-piece"},
    {"layers", &C::layers, "layers"},
    {"heads", &C::heads, "attention heads per layer"},
    {"width", &C::width, "width of the model"},
    {"block", &C::block, "tokens that the model sees at once"},
    {"dropout", &C::dropout, "probability that a value is dropped in training"},
    {"attention_dropout", &C::attention_dropout,
     "probability that an attention weight is dropped in training"},
    {"start_from", &C::start_from, "start from the weights of this model (path or name)"},
    {"initial_positions", &C::initial_positions,
     "random, sinusoidal or zero: the first position table"},
    {"model", &C::model, "further entries of the model's config.json, as a JSON object"},
    {"dtype", &C::dtype, "f32, f16 or bf16: type of the finished model's weights", false},
    {"precision", &C::precision,
     "f32 or bf16: type of the products; weights, moments and sums stay f32"},
    {"recompute", &C::recompute,
     "none, attention or block: activations to recompute instead of keeping them", false},
    {"steps", &C::steps, "updates"},
    {"epochs", &C::epochs,
     "take every example once this many times, shuffled, instead of a number of steps; "
     "0: draw examples at random"},
    {"batch", &C::batch, "sequences in one pass"},
    {"accumulate", &C::accumulate, "passes in one step"},
    {"repeats", &C::repeats, "share of the sequences that repeat themselves"},
    {"random_repeats", &C::random_repeats, "share of the sequences that repeat random tokens"},
    {"label_smoothing", &C::label_smoothing, "share of each target spread over all classes"},
    {"schedule", &C::schedule,
     "cosine, linear, inverse-sqrt or constant: the learning rate after the warm-up"},
    {"learning_rate", &C::learning_rate, "learning rate after the warm-up"},
    {"final_learning_rate", &C::final_learning_rate, "learning rate at the last step"},
    {"warmup", &C::warmup, "steps in which the learning rate rises"},
    {"decay", &C::decay,
     "constant and inverse-sqrt: last steps, while the rate falls to its final value"},
    {"groups", &C::groups,
     "a JSON list: parameters with a learning rate or decay of their own, or frozen"},
    {"beta1", &C::beta1, "AdamW: memory of the gradient"},
    {"beta2", &C::beta2, "AdamW: memory of its square"},
    {"epsilon", &C::epsilon, "AdamW: added to the root of the square"},
    {"weight_decay", &C::weight_decay, "AdamW: decay of matrices"},
    {"clip", &C::clip, "largest norm of the gradient; 0: no limit"},
    {"seed", &C::seed, "seed of every random choice"},
    {"evaluate_every", &C::evaluate_every, "steps between evaluations", false},
    {"evaluate_sequences", &C::evaluate_sequences,
     "sequences in one evaluation; 0: the whole part"},
    {"patience", &C::patience,
     "end the run after this many evaluations without a better loss; 0: never"},
    {"checkpoint_every", &C::checkpoint_every, "steps between checkpoints", false},
    {"sample_every", &C::sample_every, "steps between samples; 0: none", false},
    {"sample_prompt", &C::sample_prompt, "what a sample begins with", false},
    {"about", &C::about, "text for the model's card", false},
};

}  // namespace

std::span<const TrainKey> train_keys() { return kKeys; }

}  // namespace heed
