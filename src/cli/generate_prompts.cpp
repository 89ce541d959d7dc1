#include <fmt/format.h>

#include <utility>

#include "cli/generate_options.h"
#include "cli/options/text_input.h"
#include "heed/error.h"
#include "inspect/answers/fields.h"
#include "models/model_tokenizer.h"

namespace heed::cli {

namespace {

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
