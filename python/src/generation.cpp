// Generation, token by token.
#include "generation.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "computing.h"
#include "errors.h"
#include "heed/generate/generate.h"
#include "model.h"
#include "settings.h"

namespace heed::python {
namespace {

// What a step has written: tokens as they came, each with the text that became certain with it.
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
  // A search writes each text as a whole, behind all of its tokens.
  void text(std::size_t row, std::string_view piece) override {
    const auto last = std::ranges::find(tokens_.rbegin(), tokens_.rend(), row, &Token::row);
    if (last != tokens_.rend()) last->text += piece;
  }
  std::vector<Token> take() { return std::exchange(tokens_, {}); }

 private:
  std::vector<Token> tokens_;
};

struct HeldGeneration {
  HeldGeneration(HeldModel of, GenerateArgs args)
      : model(std::move(of)),
        tokenizer(args.tokenizer),
        search(args.beams > 1),
        generation(model.model(), std::move(args), heard) {}

  HeldModel model;
  const Tokenizer* tokenizer;
  bool search;
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

void read_sampling(const nb::dict& given, GenerateArgs& args) {
  Sampling& sampling = args.sampling;
  sampling.temperature = setting<double>(given, "temperature", "a number");
  sampling.top_k = setting<std::int64_t>(given, "top_k", "a whole number");
  sampling.top_p = setting<double>(given, "top_p", "a number");
  sampling.min_p = setting<double>(given, "min_p", "a number");
  sampling.repetition_penalty = setting<double>(given, "repetition_penalty", "a number");
  args.seed = setting<std::uint64_t>(given, "seed", "a whole number from 0 to 2**64 - 1");
}

void read_search(const nb::dict& given, GenerateArgs& args) {
  args.beams = setting<std::int64_t>(given, "beams", "a whole number");
  args.length_penalty = setting<double>(given, "length_penalty", "a number");
  args.early_stopping = early_stopping(setting<std::string>(given, "early_stopping", "a str"));
}

GenerateArgs arguments(const HeldModel& model, const nb::dict& given) {
  GenerateArgs args;
  args.most_tokens = setting<std::int64_t>(given, "n", "a whole number");
  args.stop = setting<std::vector<std::string>>(given, "stop", "a str, or a list of them");
  args.stop_at_end = setting<bool>(given, "stop_at_end", "True or False");
  args.cache.dtype = cache_type(setting<std::string>(given, "cache_dtype", "a str"));
  args.tokenizer = model.loaded->writing_tokenizer();
  read_sampling(given, args);
  read_search(given, args);
  return args;
}

// A text, or ids. A decoder goes on from it; an encoder-decoder reads it and begins anew.
std::vector<TokenId> prompt_ids(const HeldModel& model, nb::handle prompt) {
  if (!nb::isinstance<nb::str>(prompt)) return token_ids(prompt, "prompt");
  return prompt_of(model.model(), model.tokenizer(), nb::cast<std::string>(prompt));
}

void begin(HeldGeneration* self, const HeldModel& model, const nb::list& prompts,
           const nb::dict& given) {
  GenerateArgs args = arguments(model, given);
  for (const nb::handle prompt : prompts) args.prompts.push_back(prompt_ids(model, prompt));
  if (model.model().info().reads_source()) {
    args.sources = std::exchange(args.prompts, {});
    const auto first = static_cast<TokenId>(model.model().info().first_token);
    args.prompts.assign(args.sources.size(), {first});
  }
  new (self) HeldGeneration(model, std::move(args));
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

// (text, why it stopped or None, score of a search or None) of each prompt.
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
      .def_prop_ro("texts", &texts);
}

}  // namespace heed::python
