// heed generate: lets a model write on.
#include "heed/generate/generate.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/options/text_input.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/base/error.h"
#include "heed/models/registry.h"

namespace heed::cli {
namespace {

struct Options {
  std::string prompt, file;
  bool prompt_given = false;
  std::string model;
  GenerateArgs args;
  std::optional<std::int64_t> top_k;
  bool json = false;
};

// Writes the text while it comes. The prompt waits until nothing can be wrong with it any more.
class Writer final : public GenerateListener {
 public:
  explicit Writer(std::string prompt) : prompt_(std::move(prompt)) {}

  void text(std::size_t /*row*/, std::string_view piece) override { print(piece); }
  bool stop() override {
    print(std::exchange(prompt_, ""));
    return interrupted();
  }

 private:
  std::string prompt_;
};

// Nothing of the JSON is there before its end: how far it is, instead.
class QuietWriter final : public GenerateListener {
 public:
  explicit QuietWriter(std::int64_t most_tokens) { progress_.begin("tokens", most_tokens); }

  void token(std::size_t /*row*/, const GeneratedToken& /*token*/) override { progress_.advance(); }
  bool stop() override { return interrupted(); }

 private:
  ProgressLine progress_;
};

void check(const Options& options) {
  require(options.prompt_given == options.file.empty(),
          "expected either a PROMPT or --file FILE, found {}",
          options.prompt_given ? "both" : "neither");
  require(options.args.most_tokens >= 1, "-n is {}, expected at least 1", options.args.most_tokens);
  require(options.top_k.value_or(1) >= 1, "--top-k is {}, expected at least 1",
          options.top_k.value_or(1));
  check(options.args.sampling);
}

nlohmann::ordered_json as_json(const Tokenizer& tokenizer, const GeneratedToken& token) {
  const std::string bytes = tokenizer.token_bytes(token.id);
  nlohmann::ordered_json json = {{"id", token.id},
                                 {"text", readable(bytes)},
                                 {"probability", token.probability},
                                 {"entropy", token.entropy}};
  if (find_invalid_utf8(bytes) >= 0) json["bytes"] = hexadecimal(bytes);
  return json;
}

std::string as_json(const Tokenizer& tokenizer, const std::string& prompt,
                    const Generated& generated) {
  nlohmann::ordered_json json = {{"prompt", prompt}, {"text", generated.text}};
  auto& tokens = json["tokens"] = nlohmann::ordered_json::array();
  for (const GeneratedToken& token : generated.tokens) tokens.push_back(as_json(tokenizer, token));
  json["stopped"] = name(generated.stopped);
  return json.dump(2) + "\n";
}

int run(Options options) {
  check(options);
  const std::string prompt = given_text(options.prompt, options.file);
  const LoadedModel model = load_model(find_model(options.model));
  require(model.tokenizer != nullptr, "{} has no tokenizer, expected a model that reads text",
          model.name);
  options.args.tokenizer = model.tokenizer.get();
  options.args.sampling.top_k = options.top_k.value_or(0);
  options.args.prompts = {prompt_of(*model.model, *model.tokenizer, prompt)};
  const InterruptScope scope;
  std::unique_ptr<GenerateListener> listener;
  if (options.json)
    listener = std::make_unique<QuietWriter>(options.args.most_tokens);
  else
    listener = std::make_unique<Writer>(prompt);
  const Generated generated = generate(*model.model, options.args, *listener).front();
  listener.reset();  // takes the progress away
  print(options.json ? as_json(*model.tokenizer, prompt, generated) : "\n");
  if (generated.stopped == Stopped::kPositions && !options.json)
    fmt::print(stderr,
               "heed generate: stopped after {} tokens: {} has no position for a further one\n",
               generated.tokens.size(), displayable(model.name));
  if (generated.stopped == Stopped::kInterrupted)
    fail(ErrorCode::kInterrupted, "interrupted after {} tokens", generated.tokens.size());
  return 0;
}

DType type_named(const std::string& name) {
  return std::ranges::find(kDTypes, name, &DTypeInfo::name)->dtype;
}

void add_sampling(CLI::App& app, Options& options) {
  Sampling& sampling = options.args.sampling;
  add_number(
      app, "--temperature", sampling.temperature,
      "above 1 more varied, below 1 less; 0 takes the most probable token each time (default 0.8)")
      ->type_name("X");
  add_number(app, "--top-k", options.top_k, "only the K most probable tokens")->type_name("K");
  add_number(app, "--top-p", sampling.top_p,
             "only the most probable tokens that together reach P of the probability")
      ->type_name("P");
  add_number(app, "--min-p", sampling.min_p,
             "only tokens that have at least P of the most probable one's probability")
      ->type_name("P");
  add_number(app, "--repetition-penalty", sampling.repetition_penalty,
             "above 1 makes tokens that occurred less probable (default 1)")
      ->type_name("X");
  add_number(app, "--seed", options.args.seed, "the same seed gives the same text (default 0)")
      ->type_name("S");
}

Run add(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  const auto* prompt = app.add_option(
      "PROMPT", options->prompt,
      "what the text begins with; \"\" starts from the model's first token, - reads it "
      "from stdin");
  app.add_option("--file", options->file, "read the prompt from a file, or from stdin with -")
      ->type_name("FILE");
  add_model(app, options->model);
  add_number(app, "-n", options->args.most_tokens, "tokens to write at most (default 200)")
      ->type_name("N");
  add_sampling(app, *options);
  app.add_option("--stop", options->args.stop, "end before this text; may be given several times")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  app.add_option_function<std::string>(
         "--cache-dtype",
         [options](const std::string& name) { options->args.cache.dtype = type_named(name); },
         "keep keys and values in this type: f32 (default), f16, bf16, or i8 with scales")
      ->check(one_of({"f32", "f16", "bf16", "i8"}))
      ->type_name("TYPE");
  app.add_flag("--json", options->json,
               "print prompt, text, tokens with probability and entropy (in nats, of the model's "
               "distribution before temperature and filters) and why it stopped: end, stop, "
               "length, positions");
  add_threads(app);
  return [options, prompt] {
    options->prompt_given = prompt->count() > 0;
    return run(*options);
  };
}

}  // namespace

Command generate_command() {
  return {"generate", "lets a model continue a text",
          "  heed generate \"Once upon a time\"\n"
          "  heed generate \"Once upon a time\" -n 50 --temperature 0 --json\n"
          "  heed generate --file story.txt --top-p 0.9 --seed 7 --stop \"The end\"",
          add};
}

}  // namespace heed::cli
