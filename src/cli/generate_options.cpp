#include "cli/generate_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/wording.h"
#include "cli/command.h"
#include "cli/options/option.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "inspect/answers/fields.h"
#include "models/model_tokenizer.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

// Rejects options that would have no effect.
void check_effects(const GenerateOptions& options, const Given& given) {
  if (given.has("--beams"))
    given.refuse_beside({"--temperature", "--top-k", "--top-p", "--min-p", "--seed"},
                        "--beams, which draws nothing");
  given.require_beside({"--length-penalty", "--early-stopping"}, options.args.beams > 1,
                       "--beams above 1");
  given.require_beside({"--top-k", "--top-p", "--min-p", "--seed"},
                       options.args.sampling.temperature > 0, "--temperature above 0");
}

// Options that a file can also set, and their names for `follow`.
constexpr std::pair<const char*, std::string_view> kOfFiles[] = {
    {"--temperature", "temperature"},
    {"--top-k", "top_k"},
    {"--top-p", "top_p"},
    {"--min-p", "min_p"},
    {"--seed", "seed"},
    {"--beams", "beams"},
    {"--repetition-penalty", "repetition_penalty"},
    {"--no-repeat-ngram", "no_repeat_ngram"},
    {"--length-penalty", "length_penalty"},
    {"--early-stopping", "early_stopping"},
    {"--stop", "stop"}};

// The folder's generation_config.json, except what the command line sets.
GenerationConfig follow_file(const std::filesystem::path& folder, const Given& given,
                             GenerateArgs& args) {
  GenerationConfig config = read_generation_config(folder);
  std::vector<std::string_view> own;
  for (const auto& [option, member] : kOfFiles)
    if (given.has(option)) own.push_back(member);
  follow(config, args, own);
  if (!config.not_followed.empty())
    tell("heed generate: {} asks for {}, which heed does not follow\n",
         displayable(config.file.string()), joined(config.not_followed, ", "));
  return config;
}

void add_choice(OptionList& list, GenerateOptions& options) {
  GenerateArgs& args = options.args;
  Sampling& sampling = args.sampling;
  add(list,
      {{"--temperature", &sampling.temperature, "X",
        "above 1 more varied, below 1 less; 0 takes the most probable token each time "
        "(default 0.8)"},
       {"--top-k", &options.top_k, "K", "only the K most probable tokens"},
       {"--top-p", &sampling.top_p, "P",
        "only the most probable tokens that together reach P of the probability"},
       {"--min-p", &sampling.min_p, "P",
        "only tokens that have at least P of the most probable one's probability"},
       {"--seed", &args.seed, "S", "the same seed gives the same text (default 0)"},
       {"--repetition-penalty", &sampling.repetition_penalty, "X",
        "above 1 makes tokens that occurred less probable (default 1)"},
       {.name = "--no-repeat-ngram",
        .to = &args.rules.no_repeat_ngram,
        .type = "N",
        .help = "no sequence of N tokens comes twice; 0: any may (default 0)",
        .least = 0},
       {"--beams", &args.beams, "N",
        "search for the most probable text with N of them side by side, in place of "
        "choosing token by token"},
       {"--length-penalty", &args.length_penalty, "X",
        "a text's score is its log-probability / tokens^X: above 0 favours long ones "
        "(default 1)"},
       {.name = "--early-stopping",
        .to =
            [&args](const std::string& word) {
              args.early_stopping = word == "true"    ? EarlyStopping::kTrue
                                    : word == "never" ? EarlyStopping::kNever
                                                      : EarlyStopping::kFalse;
            },
        .help = "end once N texts are finished (true), once the open ones look worse (false, the "
                "default), or once they cannot become better (never)",
        .words = {"false", "true", "never"}}});
}

void add_answer(OptionList& list, GenerateOptions& options) {
  add(list,
      {{.name = "--no-crop",
        .to = &options.no_crop,
        .help = "stop where the model's positions end, instead of continuing with the last "
                "tokens alone"},
       {.name = "--stop",
        .to = &options.args.stop,
        .type = "TEXT",
        .help = "end before this text; may be given several times",
        .list = List::kRepeated},
       {.name = "--dtype",
        .to = [&options](const std::string& name) { options.dtype = dtype_named(name); },
        .help = "hold weights in this type (default: the file's)",
        .words = {"f32", "f16", "bf16"}},
       activations_option(options.byte_activations),
       {.name = "--cache-dtype",
        .to = [&options](const std::string& name) { options.args.cache.dtype = dtype_named(name); },
        .help = "keep keys and values in this type: f32 (default), f16, bf16, or i8 with scales",
        .words = {"f32", "f16", "bf16", "i8"}}});
  add_json_options(list, options.json,
                   "prompt, text, tokens with probability and entropy (in nats, of the model's "
                   "distribution before temperature and filters) and why it stopped: end, stop, "
                   "length, positions");
}

void add_prompt(OptionList& list, GenerateOptions& options) {
  add(list,
      {{.name = "PROMPT",
        .to = &options.prompts,
        .type = "TEXT",
        .help = "the beginning of the text; \"\" starts from the model's first token, - reads it "
                "from stdin; several are written side by side",
        .list = List::kInARow},
       {"--file", &options.file, "FILE", "read the prompt from a file, or from stdin with -"},
       {"--ids", &options.ids, "5,3,9", kIdsHelp},
       model_option(options.model),
       {"-n", &options.args.most_tokens, "N", "tokens to write at most (default 200)"},
       {.name = "--chat",
        .to = &options.chat,
        .help = "the prompt is a user's message: the model's chat template writes it and the "
                "beginning of the answer, which alone is printed"},
       {.name = "--system",
        .to = &options.system,
        .type = "TEXT",
        .help = "the system's message before it",
        .needs = "--chat"}});
}

// The prompt's text; empty for ids without a tokenizer.
std::string read_ids(const LoadedModel& model, const GenerateOptions& options, GenerateArgs& args) {
  args.prompts = {options.ids};
  if (!model.tokenizer) return "";
  const std::int64_t vocabulary = model.model->info().vocabulary;
  for (const TokenId id : options.ids)
    if (id < 0 || id >= vocabulary)
      fail({.argument = "--ids",
            .found = id,
            .expected = fmt::format("0 to {} (the vocabulary)", vocabulary - 1)});
  return token_text(model.tokenizer->decode(options.ids, /*skip_special=*/true));
}

void check_chat(const LoadedModel& model, const std::vector<TokenId>& ids) {
  const ModelInfo& info = model.model->info();
  require_in_vocabulary("generate", *model.tokenizer, ids,
                        info.reads_source() ? info.source_vocabulary : info.vocabulary);
  if (ids.empty())
    fail({.argument = "--chat", .found = "a template that writes nothing", .expected = "a text"});
}

Prompts read_texts(const LoadedModel& model, const GenerateOptions& options, GenerateArgs& args) {
  Prompts prompts;
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer",
          .expected = "a model that reads text, or --ids"});
  for (const std::string& prompt : options.prompts) {
    WrittenChat read;
    if (options.chat) {
      read = chat_of("generate", model, options.system, prompt);
      check_chat(model, read.encoding.ids);
      args.prompts.push_back(read.encoding.ids);
    } else {
      args.prompts.push_back(prompt_of(*model.model, *model.tokenizer, prompt));
      read = {prompt, model.tokenizer->encode(prompt, /*add_special=*/false)};
    }
    tell_of_lost_text("generate", "prompt", *model.tokenizer, read.text, read.encoding);
    prompts.shown.push_back(options.chat ? "" : read.text);
    prompts.texts.push_back(read.text);
  }
  return prompts;
}

}  // namespace

void add_generate_options(OptionList& list, GenerateOptions& options) {
  add_prompt(list, options);
  add_choice(list, options);
  add_answer(list, options);
  add(list, {threads_option()});
}

void check(const Given& given, const GenerateOptions& options) {
  const int inputs = (given.has("PROMPT") ? 1 : 0) + (options.file.empty() ? 0 : 1) +
                     (options.ids.empty() ? 0 : 1);
  if (inputs != 1)
    fail({.found = inputs == 0 ? "no prompt is given" : "several prompts are given",
          .expected = "one of PROMPT, --file and --ids"});
  if (std::ranges::count(options.prompts, "-") > 1)
    fail({.argument = "PROMPT", .found = "several times \"-\"", .expected = "standard input once"});
  given.require_beside({"--chat"}, options.ids.empty(), "PROMPT or --file");
  if (options.args.most_tokens < 1)
    fail({.argument = "-n", .found = options.args.most_tokens, .expected = "at least 1"});
  if (options.top_k && *options.top_k < 1)
    fail({.argument = "--top-k", .found = *options.top_k, .expected = "at least 1"});
  check(options.args.sampling);
}

GenerationConfig follow_folder(const std::filesystem::path& folder, const Given& given,
                               GenerateOptions& options) {
  options.args.sampling.top_k = options.top_k.value_or(0);
  GenerationConfig config = follow_file(folder, given, options.args);
  check_effects(options, given);
  return config;
}

void read_inputs(GenerateOptions& options) {
  if (!options.file.empty()) options.prompts = {""};
  for (std::string& prompt : options.prompts) prompt = given_text(prompt, options.file);
}

// A decoder continues the prompt; an encoder-decoder reads it and starts a new text.
Prompts read_prompts(const LoadedModel& model, GenerateOptions& options) {
  GenerateArgs& args = options.args;
  Prompts prompts;
  if (options.ids.empty())
    prompts = read_texts(model, options, args);
  else
    prompts.shown = prompts.texts = {read_ids(model, options, args)};
  const ModelInfo& info = model.model->info();
  if (!info.reads_source()) return prompts;
  args.sources = std::move(args.prompts);
  args.prompts.assign(args.sources.size(), {static_cast<TokenId>(info.first_token)});
  prompts.shown.assign(args.sources.size(), "");
  return prompts;
}

}  // namespace heed::cli
