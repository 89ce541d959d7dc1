// Generation, token by token.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind.h"
#include "computing.h"
#include "errors.h"
#include "heed/generate.h"
#include "model.h"
#include "settings.h"

namespace heed::python {
namespace {

// The tokens of a step in order, each with the text that it completed.
class Heard final : public GenerateListener {
 public:
  struct Token {
    std::size_t row = 0;
    GeneratedToken token;
    std::string text = {};
  };

  void token(std::size_t row, const GeneratedToken& token) override {
    tokens_.push_back({.row = row, .token = token});
  }
  // A beam search reports each text as a whole, after all its tokens.
  void text(std::size_t row, std::string_view piece) override {
    const auto last = std::ranges::find(tokens_.rbegin(), tokens_.rend(), row, &Token::row);
    if (last != tokens_.rend()) last->text += piece;
  }
  std::vector<Token> take() { return std::exchange(tokens_, {}); }

 private:
  std::vector<Token> tokens_;
};

struct HeldGeneration {
  HeldGeneration(HeldModel of, GenerateArgs args, const GenerationConfig& config)
      : model(std::move(of)),
        tokenizer(args.tokenizer),
        search(args.beams > 1),
        file(config.file.string()),
        not_followed(config.not_followed),
        generation(model.model(), std::move(args), heard) {}

  HeldModel model;
  const Tokenizer* tokenizer;
  bool search;
  std::string file;                       // the folder's file with generation settings
  std::vector<std::string> not_followed;  // its keys that heed ignores
  Heard heard;
  Generation generation;
};

DType cache_type(const std::string& name) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8})
    if (heed::name(type) == name) return type;
  fail({.op = "generate",
        .argument = "cache_dtype",
        .found = "\"" + name + "\"",
        .expected = "\"float32\", \"float16\", \"bfloat16\" or \"int8\""});
}

EarlyStopping early_stopping(const std::string& word) {
  if (word == "true") return EarlyStopping::kTrue;
  if (word == "never") return EarlyStopping::kNever;
  return EarlyStopping::kFalse;
}

constexpr const char* kNumber = "a number";
constexpr const char* kWhole = "a whole number";

// settings[name], if given.
template <typename T>
void read(const nb::dict& given, const char* name, T& to, const char* expected) {
  if (given.contains(name)) to = setting<T>(given, name, expected);
}

void read_sampling(const nb::dict& given, GenerateArgs& args) {
  Sampling& sampling = args.sampling;
  read(given, "temperature", sampling.temperature, kNumber);
  read(given, "top_k", sampling.top_k, kWhole);
  read(given, "top_p", sampling.top_p, kNumber);
  read(given, "min_p", sampling.min_p, kNumber);
  read(given, "repetition_penalty", sampling.repetition_penalty, kNumber);
  read(given, "no_repeat_ngram", args.rules.no_repeat_ngram, kWhole);
  read(given, "seed", args.seed, "a whole number from 0 to 2**64 - 1");
  check(sampling);
  if (given.contains("top_k") && sampling.top_k < 1)
    fail("generate", "top_k", sampling.top_k, "at least 1");
}

void read_search(const nb::dict& given, GenerateArgs& args) {
  read(given, "beams", args.beams, kWhole);
  read(given, "length_penalty", args.length_penalty, kNumber);
  std::string word = "false";
  read(given, "early_stopping", word, "a str");
  args.early_stopping = early_stopping(word);
}

// Rejects options that would have no effect.
void check_effects(const nb::dict& given, const GenerateArgs& args) {
  const auto need = [&](const char* name, bool holds, const char* what) {
    if (given.contains(name) && !holds)
      fail("generate", name, "without effect", std::string(what) + " beside it");
  };
  for (const char* name : {"temperature", "top_k", "top_p", "min_p", "seed"})
    need(name, !given.contains("beams"), "no beams");
  for (const char* name : {"length_penalty", "early_stopping"})
    need(name, args.beams > 1, "beams above 1");
  for (const char* name : {"top_k", "top_p", "min_p", "seed"})
    need(name, args.sampling.temperature > 0, "a temperature above 0");
}

// The given settings, and the model folder's for the rest, as in the program.
GenerateArgs arguments(const HeldModel& model, const nb::dict& given,
                       const GenerationConfig& config) {
  GenerateArgs args;
  read(given, "n", args.most_tokens, kWhole);
  read(given, "stop", args.stop, "a str, or a list of them");
  read(given, "stop_at_end", args.stop_at_end, "True or False");
  if (given.contains("cache_dtype"))
    args.cache.dtype = cache_type(setting<std::string>(given, "cache_dtype", "a str"));
  args.tokenizer = model.loaded->writing_tokenizer();
  read_sampling(given, args);
  read_search(given, args);
  std::vector<std::string> names;
  for (const auto& [name, value] : given) names.push_back(nb::cast<std::string>(name));
  const std::vector<std::string_view> own(names.begin(), names.end());
  follow(config, args, own);
  check_effects(given, args);
  if (given.contains("beams")) args.sampling.temperature = 0;  // one beam means greedy
  return args;
}

// A text, or ids. A decoder continues it; an encoder-decoder reads it and starts a new text.
std::vector<TokenId> prompt_ids(const HeldModel& model, nb::handle prompt) {
  if (!nb::isinstance<nb::str>(prompt)) return token_ids(prompt, "prompt");
  return prompt_of(model.model(), model.tokenizer(), nb::cast<std::string>(prompt));
}

void begin(HeldGeneration* self, const HeldModel& model, const nb::list& prompts,
           const nb::dict& given) {
  const GenerationConfig config = read_generation_config(model.loaded->folder);
  check(config, model.model().info(), model.loaded->writing_tokenizer());
  GenerateArgs args = arguments(model, given, config);
  for (const nb::handle prompt : prompts) args.prompts.push_back(prompt_ids(model, prompt));
  if (model.model().info().reads_source()) {
    args.sources = std::exchange(args.prompts, {});
    const auto first = static_cast<TokenId>(model.model().info().first_token);
    args.prompts.assign(args.sources.size(), {first});
  }
  new (self) HeldGeneration(model, std::move(args), config);
}

// The tokens of the next step, each (row, id, text, bytes, probability, entropy); None at the end.
nb::object step(HeldGeneration& held) {
  const bool goes_on = computing([&] { return held.generation.step(); });
  const std::vector<Heard::Token> heard = held.heard.take();
  if (!goes_on && heard.empty()) return nb::none();
  nb::list tokens;
  for (const Heard::Token& each : heard) {
    const std::string bytes =
        held.tokenizer != nullptr ? held.tokenizer->token_bytes(each.token.id) : "";
    tokens.append(nb::make_tuple(each.row, each.token.id, text_of_bytes(each.text), as_bytes(bytes),
                                 each.token.probability, each.token.entropy));
  }
  return tokens;
}

// For each prompt: (text, the reason why it stopped or None, the search's score or None).
nb::list texts(const HeldGeneration& held) {
  nb::list list;
  const std::vector<Generated>& all = held.generation.texts();
  for (std::size_t row = 0; row < all.size(); ++row) {
    const bool ended = held.generation.has_ended(row);
    list.append(nb::make_tuple(
        nb::str(all[row].text.data(), all[row].text.size()),
        ended ? nb::object(nb::str(std::string(name(all[row].stopped)).c_str())) : nb::none(),
        held.search && ended ? nb::object(nb::float_(all[row].score)) : nb::none()));
  }
  return list;
}

}  // namespace

void bind_generation(nb::module_& module) {
  nb::class_<HeldGeneration>(module, "Generation")
      .def("__init__", &begin, nb::arg("model"), nb::arg("prompts"), nb::arg("settings"))
      .def("step", &step)
      .def_prop_ro("not_followed",
                   [](const HeldGeneration& held) {
                     return nb::make_tuple(held.file, nb::cast(held.not_followed));
                   })
      .def_prop_ro("texts", &texts);
}

}  // namespace heed::python
