// heed serve: the inspector's page, on this machine.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/options/text_input.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output.h"
#include "heed/base/error.h"
#include "serve/server.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

constexpr int kDefaultPort = 8321;

struct Options {
  std::string model;
  std::string text, file;
  std::string host = "127.0.0.1";
  int port = kDefaultPort;
  bool new_token = false;
  bool text_given = false;
};

std::optional<std::string> first_text(const Options& options) {
  if (!options.text_given && options.file.empty()) return {};
  if (options.text_given && !options.file.empty())
    fail({.found = "--text and --file are both given", .expected = "one of them"});
  std::string text = given_text(options.text, options.file);
  require_utf8(text);
  return text;
}

void warn_of_cleartext(const std::string& host, int port) {
  fmt::print(stderr,
             "heed serve: --host {}: HTTP is not encrypted: whoever sees the network's traffic can "
             "read the token, the text and every answer; safer: leave --host out, and on the other "
             "machine: ssh -L {}:127.0.0.1:{} THIS_MACHINE\n",
             host, port, port);
}

int run(const Options& options) {
  const InterruptScope scope;
  const std::optional<std::string> text = first_text(options);
  const LoadedModel model = load_model(find_model(options.model));
  pack(model.model->parameters(), DType::kF32);
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer", .expected = "a model with one"});
  Server server(model, {.host = options.host,
                        .port = options.port,
                        .token = server_token(options.new_token),
                        .text = text});
  if (!server.is_local()) warn_of_cleartext(options.host, server.port());
  print(fmt::format("{}\n", server.address()));
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.stop();
  return kInterruptedStatus;
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<Options>();
  add(list, {model_option(options->model),
             {.name = "--text",
              .to = &options->text,
              .type = "TEXT",
              .help = "the text that the page begins with; - reads it from stdin"},
             {.name = "--file",
              .to = &options->file,
              .type = "FILE",
              .help = "that text from a file, or from stdin with -"},
             {.name = "--port",
              .to = &options->port,
              .type = "N",
              .least = 0,
              .most = 65535,
              .help = "where to listen (default 8321); 0: one that is free"},
             {.name = "--host",
              .to = &options->host,
              .type = "HOST",
              .help = "the address to listen on (default 127.0.0.1: this machine alone)"},
             {.name = "--new-token",
              .to = &options->new_token,
              .help = "make a new token: addresses printed before stop working"},
             threads_option()});
  return [options](const Given& given) {
    options->text_given = given.has("--text");
    return run(*options);
  };
}

}  // namespace

Command serve_command() {
  return {"serve", "the inspector's page: prints its address, and serves until Ctrl-C",
          "  heed serve --text \"The cat sat on the mat because it was tired.\"\n"
          "  heed serve --model models/gpt2 --file story.txt --port 0",
          declare};
}

}  // namespace heed::cli
