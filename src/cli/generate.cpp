// heed generate: lets a model continue a text.
#include "heed/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/json.h"
#include "cli/command.h"
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
  std::optional<DType> dtype;  // else the file's
  bool json = false;
};

// Writes the text as it comes. The prompt is printed once no argument can be wrong any more.
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

// The JSON is written at the end, so progress is shown until then.
class QuietWriter final : public GenerateListener {
 public:
  explicit QuietWriter(std::int64_t most_tokens) { progress_.begin("tokens", most_tokens); }

  void token(std::size_t /*row*/, const GeneratedToken& /*token*/) override { progress_.advance(); }
  bool stop() override { return interrupted(); }

 private:
  ProgressLine progress_;
};

void check(const Options& options) {
  if (options.prompt_given != options.file.empty())
    fail({.found = options.prompt_given ? "PROMPT and --file are both given" : "no prompt is given",
          .expected = "either a PROMPT or --file FILE"});
  if (options.args.most_tokens < 1)
    fail({.argument = "-n", .found = options.args.most_tokens, .expected = "at least 1"});
  if (options.top_k && *options.top_k < 1)
    fail({.argument = "--top-k", .found = *options.top_k, .expected = "at least 1"});
  check(options.args.sampling);
}

// An option that would change nothing is refused.
void check_effects(const Options& options, const Given& given) {
  const bool searches = given.has("--beams");
  for (const char* name : {"--temperature", "--top-k", "--top-p", "--min-p", "--seed"})
    given.require_beside(name, !searches, "no --beams");
  for (const char* name : {"--length-penalty", "--early-stopping"})
    given.require_beside(name, options.args.beams > 1, "--beams above 1");
  for (const char* name : {"--top-k", "--top-p", "--min-p", "--seed"})
    given.require_beside(name, options.args.sampling.temperature > 0, "--temperature above 0");
}

Json as_json(const Tokenizer& tokenizer, const GeneratedToken& token) {
  const std::string bytes = tokenizer.token_bytes(token.id);
  Json json = {{"id", token.id},
               {"text", readable(bytes)},
               {"probability", token.probability},
               {"entropy", token.entropy}};
  if (find_invalid_utf8(bytes) >= 0) json.set("bytes", hexadecimal(bytes));
  return json;
}

std::string as_json(const GenerateArgs& args, const std::string& prompt,
                    const Generated& generated) {
  Json tokens = Json::array();
  for (const GeneratedToken& token : generated.tokens) tokens.push(as_json(*args.tokenizer, token));
  Json json = {{"prompt", prompt},
               {"text", generated.text},
               {"tokens", std::move(tokens)},
               {"stopped", name(generated.stopped)}};
  if (args.beams > 1) json.set("score", generated.score);
  return json.dump(2) + "\n";
}

// A decoder goes on from the prompt; an encoder-decoder reads it and begins anew.
void read_prompt(const LoadedModel& model, const std::string& prompt, GenerateArgs& args) {
  args.tokenizer = model.writing_tokenizer();
  args.prompts = {prompt_of(*model.model, *model.tokenizer, prompt)};
  tell_of_unknown_text("generate", "prompt", *model.tokenizer, args.prompts[0]);
  if (!model.model->info().reads_source()) return;
  args.sources = std::move(args.prompts);
  args.prompts = {{static_cast<TokenId>(model.model->info().first_token)}};
}

int run(Options options, const Given& given) {
  options.prompt_given = given.has("PROMPT");
  check(options);
  check_effects(options, given);
  const std::string prompt = given_text(options.prompt, options.file);
  const LoadedModel model =
      load_model(find_model(options.model), {.packed = true, .dtype = options.dtype});
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer", .expected = "a model that reads text"});
  options.args.sampling.top_k = options.top_k.value_or(0);
  if (given.has("--beams")) options.args.sampling.temperature = 0;  // one beam is greedy
  read_prompt(model, prompt, options.args);
  const InterruptScope scope;
  std::unique_ptr<GenerateListener> listener;
  if (options.json)
    listener = std::make_unique<QuietWriter>(options.args.most_tokens);
  else
    listener = std::make_unique<Writer>(options.args.sources.empty() ? prompt : "");
  const Generated generated = generate(*model.model, options.args, *listener).front();
  listener.reset();  // takes the progress away
  print(options.json ? as_json(options.args, prompt, generated) : "\n");
  if (generated.stopped == Stopped::kPositions && !options.json)
    fmt::print(stderr,
               "heed generate: stopped after {} tokens: {} has no position for a further one\n",
               generated.tokens.size(), displayable(model.name));
  if (generated.stopped == Stopped::kInterrupted)
    fail({.code = ErrorCode::kInterrupted,
          .found = fmt::format("interrupted after {} tokens", generated.tokens.size())});
  return 0;
}

DType type_named(const std::string& name) {
  return std::ranges::find(kDTypes, name, &DTypeInfo::name)->dtype;
}

void add_sampling(OptionList& list, GenerateArgs& args, std::optional<std::int64_t>& top_k) {
  Sampling& sampling = args.sampling;
  add(list,
      {{.name = "--temperature",
        .to = &sampling.temperature,
        .type = "X",
        .help = "above 1 more varied, below 1 less; 0 takes the most probable token each time "
                "(default 0.8)"},
       {.name = "--top-k", .to = &top_k, .type = "K", .help = "only the K most probable tokens"},
       {.name = "--top-p",
        .to = &sampling.top_p,
        .type = "P",
        .help = "only the most probable tokens that together reach P of the probability"},
       {.name = "--min-p",
        .to = &sampling.min_p,
        .type = "P",
        .help = "only tokens that have at least P of the most probable one's probability"},
       {.name = "--repetition-penalty",
        .to = &sampling.repetition_penalty,
        .type = "X",
        .help = "above 1 makes tokens that occurred less probable (default 1)"},
       {.name = "--seed",
        .to = &args.seed,
        .type = "S",
        .help = "the same seed gives the same text (default 0)"}});
}

void add_beams(OptionList& list, GenerateArgs& args) {
  add(list,
      {{.name = "--beams",
        .to = &args.beams,
        .type = "N",
        .help = "search for the most probable text with N of them side by side, in place of "
                "choosing token by token"},
       {.name = "--length-penalty",
        .to = &args.length_penalty,
        .type = "X",
        .help = "a text's score is its log-probability / tokens^X: above 0 favours long ones "
                "(default 1)"},
       {.name = "--early-stopping",
        .to =
            [&args](const std::string& word) {
              args.early_stopping = word == "true"    ? EarlyStopping::kTrue
                                    : word == "never" ? EarlyStopping::kNever
                                                      : EarlyStopping::kFalse;
            },
        .words = {"false", "true", "never"},
        .help = "end once N texts are finished (true), once the open ones look worse (false, the "
                "default), or once they cannot become better (never)"}});
}

void add_answer(OptionList& list, Options& options) {
  add(list,
      {{.name = "--stop",
        .to = &options.args.stop,
        .type = "TEXT",
        .list = List::kRepeated,
        .help = "end before this text; may be given several times"},
       {.name = "--dtype",
        .to = [&options](const std::string& name) { options.dtype = type_named(name); },
        .words = {"f32", "f16", "bf16"},
        .help = "hold weights in this type (default: the file's)"},
       {.name = "--cache-dtype",
        .to = [&options](const std::string& name) { options.args.cache.dtype = type_named(name); },
        .words = {"f32", "f16", "bf16", "i8"},
        .help = "keep keys and values in this type: f32 (default), f16, bf16, or i8 with scales"},
       {.name = "--json",
        .to = &options.json,
        .help = "print prompt, text, tokens with probability and entropy (in nats, of the model's "
                "distribution before temperature and filters) and why it stopped: end, stop, "
                "length, positions"}});
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<Options>();
  add(list,
      {{.name = "PROMPT",
        .to = &options->prompt,
        .type = "TEXT",
        .help = "what the text begins with; \"\" starts from the model's first token, - reads it "
                "from stdin"},
       {.name = "--file",
        .to = &options->file,
        .type = "FILE",
        .help = "read the prompt from a file, or from stdin with -"},
       model_option(options->model),
       {.name = "-n",
        .to = &options->args.most_tokens,
        .type = "N",
        .help = "tokens to write at most (default 200)"}});
  add_sampling(list, options->args, options->top_k);
  add_beams(list, options->args);
  add_answer(list, *options);
  add(list, {threads_option()});
  return [options](const Given& given) { return run(*options, given); };
}

}  // namespace

Command generate_command() {
  return {"generate", "lets a model continue a text, or an encoder-decoder answer it",
          "  heed generate \"Once upon a time\"\n"
          "  heed generate \"Once upon a time\" -n 50 --temperature 0 --json\n"
          "  heed generate --file story.txt --top-p 0.9 --seed 7 --stop \"The end\"\n"
          "  heed generate \"Once upon a time\" -n 50 --beams 4",
          declare};
}

}  // namespace heed::cli
