// heed generate: continues a text with a model.
#include "heed/generate.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/wording.h"
#include "cli/command.h"
#include "cli/generate_options.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/error.h"
#include "heed/model.h"
#include "inspect/answers/fields.h"
#include "models/stored_weights.h"

namespace heed::cli {
namespace {

class Listener : public GenerateListener {
 public:
  virtual void end_line() {}
};

// Prints the text as it is generated. The prompt is printed once all arguments are known to be
// valid.
class Writer final : public Listener {
 public:
  explicit Writer(std::string prompt) : prompt_(std::move(prompt)) {}

  bool stop() override {
    is_open_ = is_open_ || !prompt_.empty();
    print(std::exchange(prompt_, ""));
    return interrupted();
  }
  void text(std::size_t /*row*/, std::string_view piece) override {
    is_open_ = true;
    print(piece);
  }
  /// An error gets a separate line.
  void end_line() override {
    if (std::exchange(is_open_, false)) print("\n");
  }

 private:
  std::string prompt_;
  bool is_open_ = false;  // something was printed without a line end
};

// The JSON is written at the end, so until then progress is shown.
class QuietWriter final : public Listener {
 public:
  explicit QuietWriter(std::int64_t most_tokens) { progress_.begin("tokens", most_tokens); }

  void token(std::size_t /*row*/, const GeneratedToken& /*token*/) override { progress_.advance(); }
  bool stop() override { return interrupted(); }

 private:
  ProgressLine progress_;
};

Json as_json(const Tokenizer* tokenizer, const GeneratedToken& token) {
  Json json = {{"id", token.id}};
  const std::string bytes = tokenizer == nullptr ? "" : tokenizer->token_bytes(token.id);
  if (tokenizer != nullptr) json.set("text", token_text(bytes));
  json.set("probability", token.probability);
  json.set("entropy", token.entropy);
  if (const auto hex = token_hex(bytes)) json.set("bytes", *hex);
  return json;
}

Json as_json(const GenerateArgs& args, const std::string& prompt, const Generated& generated) {
  Json tokens = Json::array();
  for (const GeneratedToken& token : generated.tokens) tokens.push(as_json(args.tokenizer, token));
  Json json = {{"prompt", prompt},
               {"text", generated.text},
               {"tokens", std::move(tokens)},
               {"stopped", name(generated.stopped)}};
  if (args.beams > 1) json.set("score", generated.score);
  return json;
}

std::vector<Generated> generate_aloud(const LoadedModel& model, const GenerateOptions& options,
                                      const std::vector<std::string>& shown) {
  std::unique_ptr<Listener> listener;
  const std::int64_t count = std::ssize(options.args.prompts);
  if (options.json || count > 1)
    listener = std::make_unique<QuietWriter>(options.args.most_tokens * count);
  else
    listener = std::make_unique<Writer>(shown.front());
  try {
    return generate(*model.model, options.args, *listener);
  } catch (...) {
    listener->end_line();
    throw;
  }
}

std::string ids_text(const Generated& generated) {
  std::vector<TokenId> ids;
  for (const GeneratedToken& token : generated.tokens) ids.push_back(token.id);
  return fmt::format("{}\n", joined(ids, ","));
}

// The end of the output: a single prompt's text was already printed piece by piece; several
// prompts, or text without a tokenizer, are printed here.
std::string last_words(const GenerateOptions& options, const Prompts& prompts,
                       const std::vector<Generated>& texts) {
  if (options.json) {
    std::vector<Json> all;
    for (std::size_t row = 0; row < texts.size(); ++row)
      all.push_back(as_json(options.args, prompts.texts[row], texts[row]));
    return (all.size() == 1 ? all.front() : Json(all)).dump(2) + "\n";
  }
  if (texts.size() == 1) return options.args.tokenizer != nullptr ? "\n" : ids_text(texts[0]);
  std::string words;
  for (std::size_t row = 0; row < texts.size(); ++row)
    words += fmt::format("{}{}{}\n", row == 0 ? "" : "\n", prompts.shown[row], texts[row].text);
  return words;
}

// Reports that the text became longer than the model can see.
void tell_of_positions(const ModelInfo& info, const GenerateArgs& args, std::size_t row,
                       const Generated& generated) {
  const std::string count = number_of(generated.tokens.size(), "token");
  if (generated.stopped == Stopped::kPositions)
    tell("heed generate: stopped after {}: the model holds at most {} tokens (block)\n", count,
         info.positions);
  // The last token is written but not read.
  else if (std::ssize(args.prompts[row]) + std::ssize(generated.tokens) - 1 > info.positions)
    tell(
        "heed generate: the model holds at most {} tokens (block): later ones follow from the "
        "last {} alone (--no-crop stops there)\n",
        info.positions, info.positions);
}

void check_stop(const Given& given, const LoadedModel& model) {
  if (given.has("--stop") && model.writing_tokenizer() == nullptr)
    fail({.argument = "--stop",
          .found = "given",
          .expected = "none, as " + model.name + " has no tokenizer"});
}

void fail_if_interrupted(const std::vector<Generated>& texts) {
  std::size_t tokens = 0;
  for (const Generated& text : texts) tokens += text.tokens.size();
  for (const Generated& text : texts)
    if (text.stopped == Stopped::kInterrupted)
      fail({.code = ErrorCode::kInterrupted,
            .found = fmt::format("interrupted after {}", number_of(tokens, "token"))});
}

int run(GenerateOptions options, const Given& given) {
  check(given, options);
  const std::filesystem::path folder = find_model(options.model);
  const GenerationConfig config = follow_folder(folder, given, options);
  if (options.ids.empty()) read_inputs(options);
  const LoadedModel model = load_model(
      folder, {.needs_tokenizers = options.ids.empty(), .packed = true, .dtype = options.dtype});
  if (options.byte_activations) round_activations(model);
  tell_of_lost_tokenizer("generate", model);
  check(config, model.model->info(), model.writing_tokenizer());
  check_stop(given, model);
  if (given.has("--beams")) options.args.sampling.temperature = 0;  // one beam means greedy
  options.args.tokenizer = model.writing_tokenizer();
  const Prompts prompts = read_prompts(model, options);
  options.args.crop = !options.no_crop && options.args.beams == 1;
  const InterruptScope scope;
  const std::vector<Generated> texts = generate_aloud(model, options, prompts.shown);
  print(last_words(options, prompts, texts));
  for (std::size_t row = 0; row < texts.size() && !options.json; ++row)
    tell_of_positions(model.model->info(), options.args, row, texts[row]);
  fail_if_interrupted(texts);
  return 0;
}

Run declare_generate(OptionList& list) {
  const auto options = std::make_shared<GenerateOptions>();
  add_generate_options(list, *options);
  return [options](const Given& given) { return run(*options, given); };
}

}  // namespace

Command generate_command() {
  return {"generate", "continues a text with a model; an encoder-decoder answers it",
          "  heed generate \"Once upon a time\"\n"
          "  heed generate \"Once upon a time\" -n 50 --temperature 0 --json\n"
          "  heed generate --file examples/story.txt --top-p 0.9 --seed 7 --stop \"The end\"\n"
          "  heed generate \"Once upon a time\" -n 50 --beams 4\n"
          "  heed generate \"Once upon a time\" \"The king had\" -n 50",
          declare_generate};
}

}  // namespace heed::cli
