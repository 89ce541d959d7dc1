// heed generate: lets a model continue a text.
#include "heed/generate/generate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/formats/json.h"
#include "base/number_of.h"
#include "cli/command.h"
#include "cli/generate_options.h"
#include "cli/options/text_input.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/error.h"
#include "heed/models/registry.h"

namespace heed::cli {
namespace {

class Listener : public GenerateListener {
 public:
  virtual void end_line() {}
};

// Writes the text as it comes. The prompt is printed once no argument can be wrong any more.
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
  /// An error stands on a line of its own.
  void end_line() override {
    if (std::exchange(is_open_, false)) print("\n");
  }

 private:
  std::string prompt_;
  bool is_open_ = false;  // something was printed, and no line end behind it
};

// The JSON is written at the end, so progress is shown until then.
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
  if (tokenizer != nullptr) json.set("text", readable(bytes));
  json.set("probability", token.probability);
  json.set("entropy", token.entropy);
  if (find_invalid_utf8(bytes) >= 0) json.set("bytes", hexadecimal(bytes));
  return json;
}

std::string as_json(const GenerateArgs& args, const std::string& prompt,
                    const Generated& generated) {
  Json tokens = Json::array();
  for (const GeneratedToken& token : generated.tokens) tokens.push(as_json(args.tokenizer, token));
  Json json = {{"prompt", prompt},
               {"text", generated.text},
               {"tokens", std::move(tokens)},
               {"stopped", name(generated.stopped)}};
  if (args.beams > 1) json.set("score", generated.score);
  return json.dump(2) + "\n";
}

// The prompt's text; ids without a tokenizer have none.
std::string read_ids(const LoadedModel& model, const GenerateOptions& options, GenerateArgs& args) {
  args.prompts = {options.ids};
  if (!model.tokenizer) return "";
  const std::int64_t vocabulary = model.model->info().vocabulary;
  for (const TokenId id : options.ids)
    if (id < 0 || id >= vocabulary)
      fail({.argument = "--ids",
            .found = id,
            .expected = fmt::format("0 to {} (the vocabulary)", vocabulary - 1)});
  return readable(model.tokenizer->decode(options.ids, /*skip_special=*/true));
}

std::string read_text_prompt(const LoadedModel& model, const GenerateOptions& options,
                             const std::string& prompt, GenerateArgs& args) {
  if (!options.ids.empty()) return read_ids(model, options, args);
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer",
          .expected = "a model that reads text, or --ids"});
  args.prompts = {prompt_of(*model.model, *model.tokenizer, prompt)};
  tell_of_lost_text("generate", "prompt", *model.tokenizer, prompt,
                    model.tokenizer->encode(prompt, /*add_special=*/false));
  return prompt;
}

// A decoder goes on from the prompt; an encoder-decoder reads it and begins anew.
std::string read_prompt(const LoadedModel& model, const GenerateOptions& options,
                        const std::string& prompt, GenerateArgs& args) {
  args.tokenizer = model.writing_tokenizer();
  std::string text = read_text_prompt(model, options, prompt, args);
  if (!model.model->info().reads_source()) return text;
  args.sources = std::move(args.prompts);
  args.prompts = {{static_cast<TokenId>(model.model->info().first_token)}};
  return text;
}

Generated generate_aloud(const LoadedModel& model, const GenerateOptions& options,
                         const std::string& prompt) {
  std::unique_ptr<Listener> listener;
  if (options.json)
    listener = std::make_unique<QuietWriter>(options.args.most_tokens);
  else
    listener = std::make_unique<Writer>(options.args.sources.empty() ? prompt : "");
  try {
    return generate(*model.model, options.args, *listener).front();
  } catch (...) {
    listener->end_line();
    throw;
  }
}

// What is printed behind the text that came piece by piece; without a tokenizer all there is.
std::string last_words(const GenerateOptions& options, const std::string& prompt,
                       const Generated& generated) {
  if (options.json) return as_json(options.args, prompt, generated);
  if (options.args.tokenizer != nullptr) return "\n";
  std::vector<TokenId> ids;
  for (const GeneratedToken& token : generated.tokens) ids.push_back(token.id);
  return fmt::format("{}\n", fmt::join(ids, ","));
}

// Where the text became longer than the model can see.
void tell_of_positions(const ModelInfo& info, const GenerateArgs& args,
                       const Generated& generated) {
  const std::string count = number_of(generated.tokens.size(), "token");
  if (generated.stopped == Stopped::kPositions)
    tell("heed generate: stopped after {}: the model holds at most {} (block)\n", count,
         info.positions);
  // The last token is written, not read.
  else if (std::ssize(args.prompts[0]) + std::ssize(generated.tokens) - 1 > info.positions)
    tell(
        "heed generate: the model holds at most {} (block): later tokens follow from the "
        "last {} alone (--no-crop stops there)\n",
        info.positions, info.positions);
}

int run(GenerateOptions options, const Given& given) {
  check(given, options);
  const std::filesystem::path folder = find_model(options.model);
  const GenerationConfig config = follow_folder(folder, given, options);
  const std::string given_prompt =
      options.ids.empty() ? given_text(options.prompt, options.file) : "";
  const LoadedModel model = load_model(
      folder, {.needs_tokenizers = options.ids.empty(), .packed = true, .dtype = options.dtype});
  tell_of_lost_tokenizer("generate", model);
  check(config, model.model->info(), model.writing_tokenizer());
  if (given.has("--stop") && model.writing_tokenizer() == nullptr)
    fail({.argument = "--stop",
          .found = "given",
          .expected = "none, as " + model.name + " has no tokenizer"});
  if (given.has("--beams")) options.args.sampling.temperature = 0;  // one beam is greedy
  const std::string prompt = read_prompt(model, options, given_prompt, options.args);
  options.args.crop = !options.no_crop && options.args.beams == 1;
  const InterruptScope scope;
  const Generated generated = generate_aloud(model, options, prompt);
  print(last_words(options, prompt, generated));
  if (!options.json) tell_of_positions(model.model->info(), options.args, generated);
  if (generated.stopped == Stopped::kInterrupted)
    fail({.code = ErrorCode::kInterrupted,
          .found =
              fmt::format("interrupted after {}", number_of(generated.tokens.size(), "token"))});
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
          "  heed generate --file story.txt --top-p 0.9 --seed 7 --stop \"The end\"\n"
          "  heed generate \"Once upon a time\" -n 50 --beams 4",
          declare_generate};
}

}  // namespace heed::cli
