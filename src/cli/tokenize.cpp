// heed tokenize: a text as a model's tokens.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <sstream>

#include "base/json.h"
#include "cli/command.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "heed/base/error.h"
#include "heed/models/registry.h"
#include "heed/text/tokenizer.h"

namespace heed::cli {
namespace {

constexpr std::size_t kMostBytesOfLines = std::size_t{1} << 30;

struct Options {
  std::string text;
  std::string file;
  std::string lines;
  std::string model;
  std::string tokenizer;
  bool special = false;
  bool json = false;
};

std::unique_ptr<Tokenizer> open_tokenizer(const Options& options) {
  const std::filesystem::path from = options.tokenizer.empty()
                                         ? find_model(options.model)
                                         : std::filesystem::path(options.tokenizer);
  std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(from);
  if (!tokenizer)
    fail({.code = ErrorCode::kNotFound,
          .file = from.string(),
          .found = "no tokenizer.json and no vocab.json with merges.txt",
          .expected = "one of them"});
  return tokenizer;
}

std::string as_json(const Tokenizer& tokenizer, const Encoding& encoding) {
  Json tokens = Json::array();
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const std::string bytes = tokenizer.token_bytes(encoding.ids[i]);
    Json token = {{"text", readable(bytes)},
                  {"begin", encoding.spans[i].begin},
                  {"end", encoding.spans[i].end}};
    if (find_invalid_utf8(bytes) >= 0) token.set("bytes", hexadecimal(bytes));
    tokens.push(std::move(token));
  }
  return Json({{"ids", encoding.ids}, {"tokens", std::move(tokens)}}).dump() + "\n";
}

std::string as_text(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::string text;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const TokenId id = encoding.ids[i];
    text += fmt::format("{:>8}  {}\n", id, displayable(tokenizer.token_bytes(id)));
  }
  return text;
}

// The text that a JSON string holds; none for other lines.
std::optional<std::string> text_of(const std::string& line) {
  try {
    const JsonText json = JsonText::parse(line, {});
    const std::string* text = json.root().as_text();
    return text == nullptr ? std::nullopt : std::optional(*text);
  } catch (const Error&) {
    return {};
  }
}

// Each line of the file is a JSON string; the answer has one object a line.
void tokenize_lines(const Tokenizer& tokenizer, const Options& options) {
  std::istringstream lines(read_text(options.lines, kMostBytesOfLines));
  std::string line;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    const std::optional<std::string> text = text_of(line);
    if (!text)
      fail({.file = options.lines,
            .place = fmt::format("line {}", number),
            .found = "not a JSON string",
            .expected = "one like \"a text\""});
    print(as_json(tokenizer, tokenizer.encode(*text, options.special)));
  }
}

int run(const Options& options, bool text_given) {
  const int inputs =
      (text_given ? 1 : 0) + (options.file.empty() ? 0 : 1) + (options.lines.empty() ? 0 : 1);
  if (inputs != 1)
    fail({.found = inputs == 0 ? "no text is given" : "several texts are given",
          .expected = "one of TEXT, --file and --lines"});
  if (!options.model.empty() && !options.tokenizer.empty())
    fail({.found = "--model and --tokenizer are both given", .expected = "one of them"});
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(options);
  if (!options.lines.empty()) {
    tokenize_lines(*tokenizer, options);
    return 0;
  }
  const Encoding encoding =
      tokenizer->encode(given_text(options.text, options.file), options.special);
  print(options.json ? as_json(*tokenizer, encoding) : as_text(*tokenizer, encoding));
  return 0;
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<Options>();
  add(list, {{.name = "TEXT", .to = &options->text, .help = "the text; - reads it from stdin"},
             {.name = "--file",
              .to = &options->file,
              .type = "FILE",
              .help = "read the text from a file, or from stdin with -"},
             {.name = "--lines",
              .to = &options->lines,
              .type = "FILE",
              .help = "a file of JSON strings, one a line; prints one JSON object a line"},
             model_option(options->model),
             {.name = "--tokenizer",
              .to = &options->tokenizer,
              .type = "FILE",
              .help = "a tokenizer.json, or a folder that holds one, instead of a model's"},
             {.name = "--special",
              .to = &options->special,
              .help = "add the special tokens of the post-processor"},
             {.name = "--json",
              .to = &options->json,
              .help = "print ids, texts and byte offsets as JSON"}});
  return [options](const Given& given) { return run(*options, given.has("TEXT")); };
}

}  // namespace

Command tokenize_command() {
  return {"tokenize", "cuts a text into a model's tokens",
          "  heed tokenize \"The cat sat on the mat.\"\n"
          "  heed tokenize --file story.txt --json\n"
          "  heed tokenize --lines texts.jsonl --tokenizer tokenizer.json",
          declare};
}

}  // namespace heed::cli
