// heed serve: the inspector's page, on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/look/input.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "heed/session.h"
#include "inspect/session/places.h"
#include "inspect/session/session_memory.h"
#include "serve/model_shelf.h"
#include "serve/server.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

constexpr int kDefaultPort = 8321;

struct ServeOptions {
  std::string model;
  std::optional<std::string> text, pair, target;
  std::string file, stack;
  std::string host = "127.0.0.1";
  int port = kDefaultPort;
  bool chat = false;
  std::optional<std::string> system;
  bool new_token = false;
  MemoryOptions memory = {};
};

std::optional<std::string> valid(std::optional<std::string> text) {
  if (text) require_utf8(*text);
  return text;
}

// Checks the page's initial texts now, instead of when the page is opened.
void check_sides(const ServeOptions& options, const LoadedModel& model) {
  const ModelInfo& info = model.model->info();
  if (options.pair && (info.causal || info.reads_source()))
    fail({.argument = "--pair",
          .found = "given",
          .expected = "none: " + model.name + " is not an encoder"});
  if (options.target && !info.reads_source())
    fail({.argument = "--target",
          .found = "given",
          .expected = "none: " + model.name + " is not an encoder-decoder"});
  if (const std::optional<Stack> stack = stack_of(options.stack))
    find_stack("serve", model.name, info.stacks, *stack);
}

std::optional<std::string> first_text(const ServeOptions& options) {
  if (!options.text && options.file.empty()) return {};
  if (options.text && !options.file.empty())
    fail({.found = "--text and --file are both given", .expected = "one of them"});
  return valid(given_text(options.text.value_or(""), options.file));
}

// The messages before a text, if texts are a user's messages. Says on stderr which special tokens
// the model's template adds.
std::optional<std::vector<ChatMessage>> chat_before(const ServeOptions& options,
                                                    const LoadedModel& model,
                                                    const std::string& text) {
  if (!options.chat) return {};
  const std::optional<std::string> system = valid(options.system);
  chat_of("serve", model, system, text);
  if (!system) return std::vector<ChatMessage>();
  return std::vector<ChatMessage>{{"system", *system}};
}

// Tells on stderr what the tokenizer loses of the texts, and which text is too long: the page
// offers to read a part of it. Throws for a text without a word.
void tell_of_texts(const ServeOptions& options, const LoadedModel& model,
                   const ServerOptions& shown) {
  if (!shown.text) return;
  SessionTexts texts = {.text = *shown.text, .pair = shown.pair, .target = shown.target};
  const bool writes = model.model->info().reads_source() && !texts.target;
  if (writes) texts.target = "";  // generated when the page is opened
  std::string chat;
  if (shown.chat) texts.chat = chat = chat_text(model, shown.chat_of(*shown.text));
  try {
    const Session session = tokenize_session(model, texts);
    tell_of_lost_texts("serve", model, texts, session);
    check_texts(texts, session);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    parts.op = {};
    const std::string text = parts.argument.text();
    const char* const input = options.file.empty() ? "--text" : "--file";
    parts.argument = text == "input" || text == "text" ? input : "--" + text;
    if (parts.expected.text() == "at least one word") fail(parts);
    if (text == "input") parts.hint = "the page can read its first or its last tokens";
    tell("heed serve: {}\n", to_string(parts));
  }
}

// Says on stderr what weights and texts take, where that is much.
void hold_weights_if_room(const ServeOptions& options, const LoadedModel& model) {
  Session text;
  text.info = model.model->info();
  for (const StackShape& shape : text.info.stacks) text.stacks.push_back({shape, {}});
  text.keep = options.memory.keep;
  text.model = model.name;
  check_kept(text);
  const SessionOptions kept = {.streams = true, .memory = options.memory.limit};
  text.tokens.resize(1000);
  const SessionMemory need = session_memory(text, model, kept);
  const std::optional<std::int64_t> free = memory_of(kept);
  const bool holds = !options.memory.stream && hold_if_room(*model.model, options.memory.limit);
  if (!is_much_memory(need.whole(), free)) return;
  tell("heed serve: weights: {}; a text of 1000 tokens: {} kept, {} for its pass{}\n",
       holds ? bytes_text(need.weights) : bytes_text(need.weights) + ", streamed from the file",
       bytes_text(need.kept), bytes_text(need.pass), free ? "; free: " + bytes_text(*free) : "");
}

void warn_of_cleartext(const std::string& host, int port) {
  fmt::print(
      stderr,
      "heed serve: --host {}: HTTP is not encrypted: anyone who sees the network's traffic can "
      "read the token, the text and every answer; safer: leave --host out, and on the other "
      "machine: ssh -L {}:127.0.0.1:{} THIS_MACHINE\n",
      host, port, port);
}

int run(const ServeOptions& options) {
  const std::optional<std::string> text = first_text(options);
  const ModelKind unnamed = kind_that_reads(text.value_or(""), options.pair.has_value(),
                                            options.target.has_value(), options.stack);
  const LoadedModel model = serve::load_to_serve(find_model(options.model, unnamed));
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer", .expected = "a model with one"});
  check_sides(options, model);
  hold_weights_if_room(options, model);
  const ServerOptions shown = {
      .host = options.host,
      .port = options.port,
      .token = server_token(options.new_token),
      .text = text,
      .pair = valid(options.pair),
      .target = valid(options.target),
      .stack = options.stack.empty() ? std::nullopt : std::optional(options.stack),
      .chat = chat_before(options, model, text.value_or("Hello")),
      .keep = options.memory.keep,
      .stream = options.memory.stream,
      .memory = options.memory.limit};
  Server server(model, shown);
  tell_of_texts(options, model, shown);
  if (!server.is_local()) warn_of_cleartext(options.host, server.port());
  print(fmt::format("{}\n", server.address()));
  for (;;) ::pause();  // Ctrl-C and SIGTERM end the program at once, whatever its requests do
}

void add_texts(OptionList& list, ServeOptions& options) {
  add(list, {{"--text", &options.text, "TEXT",
              "the text that the page begins with; - reads it from stdin"},
             {"--file", &options.file, "FILE", "that text from a file, or from stdin with -"},
             {"--pair", &options.pair, "TEXT",
              "a second text, which an encoder reads together with the first"},
             {"--target", &options.target, "TEXT",
              "what an encoder-decoder writes about the text (default: what it writes by "
              "itself)"},
             {.name = "--stack",
              .to = &options.stack,
              .help = "the attention that the page begins with (default: the model's first, of two "
                      "texts cross)",
              .words = {"self", "encoder", "decoder", "cross"}},
             {.name = "--chat",
              .to = &options.chat,
              .help = "every text is a user's message: the model reads the chat that its template "
                      "makes of it"},
             {.name = "--system",
              .to = &options.system,
              .type = "TEXT",
              .help = "the system's message before it",
              .needs = "--chat"}});
}

void check(const Given& given, const ServeOptions& options) {
  given.require_beside({"--pair", "--target"}, options.text || !options.file.empty(),
                       "--text or --file");
  if (options.chat) given.refuse_beside({"--pair", "--target"}, "--chat");
}

Run declare_serve(OptionList& list) {
  const auto options = std::make_shared<ServeOptions>();
  add(list, {model_option(options->model)});
  add_texts(list, *options);
  add(list, {{.name = "--port",
              .to = &options->port,
              .type = "N",
              .help = "the port to listen on (default 8321); 0: any free port",
              .least = 0,
              .most = 65535},
             {"--host", &options->host, "HOST",
              "the address to listen on (default 127.0.0.1: this machine alone)"},
             {.name = "--new-token",
              .to = &options->new_token,
              .help = "make a new token: addresses printed before stop working"},
             threads_option()});
  add_memory_options(list, options->memory);
  return [options](const Given& given) {
    check(given, *options);
    return run(*options);
  };
}

}  // namespace

Command serve_command() {
  return {"serve", "serves the page on this machine and prints its address; Ctrl-C ends it",
          "  heed serve --text \"The cat sat on the mat because it was tired.\"\n"
          "  heed serve --model models/gpt2 --file examples/story.txt --port 0\n"
          "  heed serve --model ollama:llama3.2:1b --chat\n"
          "  heed serve --model models/minilm --text \"time flies\" --pair \"fruit flies\"",
          declare_serve};
}

}  // namespace heed::cli
