// heed tokenize: a text as a model's tokens, and tokens as text.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "base/formats/json.h"
#include "base/wording.h"
#include "cli/command.h"
#include "cli/options/option.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "heed/error.h"
#include "heed/model.h"
#include "heed/tokenizer.h"
#include "inspect/answers/fields.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytesOfLines = std::size_t{1} << 30;

struct TokenizeOptions {
  std::string text;
  std::string file;
  std::string lines;
  std::string pair;
  std::vector<TokenId> decode;
  std::string model;
  std::string tokenizer;
  bool target = false;
  bool special = false;
  bool json = false;
};

std::unique_ptr<Tokenizer> open_tokenizer(const TokenizeOptions& options) {
  const fs::path from =
      options.tokenizer.empty() ? find_model(options.model) : fs::path(options.tokenizer);
  std::unique_ptr<Tokenizer> tokenizer = load_model_tokenizer(from);
  if (!tokenizer)
    fail({.code = ErrorCode::kNotFound,
          .file = from.string(),
          .found = "no tokenizer",
          .expected = "tokenizer.json, vocab.json with merges.txt, vocab.txt, tokenizer.model, "
                      "spiece.model or source.spm with vocab.json"});
  if (!options.target) return tokenizer;
  std::unique_ptr<Tokenizer> target = load_target_tokenizer(from);
  if (!target)
    fail({.argument = "--target",
          .found = "given",
          .expected = fmt::format("none: {} has one tokenizer for all texts",
                                  fs::canonical(from).filename().string())});
  return target;
}

std::string as_json(const Tokenizer& tokenizer, const Encoding& encoding, bool pair) {
  Json tokens = Json::array();
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const std::string bytes = tokenizer.token_bytes(encoding.ids[i]);
    Json token = {{"text", token_text(bytes)},
                  {"piece", token_text(tokenizer.piece(encoding.ids[i]))},
                  {"begin", encoding.spans[i].begin},
                  {"end", encoding.spans[i].end}};
    if (pair) token.set("of", encoding.texts[i] < 0 ? Json() : Json(int{encoding.texts[i]}));
    if (const auto hex = token_hex(bytes)) token.set("bytes", *hex);
    tokens.push(std::move(token));
  }
  Json answer = {{"ids", encoding.ids}};
  if (pair) answer.set("types", encoding.types);
  answer.set("tokens", std::move(tokens));
  return answer.dump() + "\n";
}

// One token per line: its id, its piece, and its bytes of the text.
std::string as_text(const Tokenizer& tokenizer, const Encoding& encoding, bool pair) {
  std::vector<std::string> pieces;
  int width = 5;
  for (const TokenId id : encoding.ids) {
    pieces.push_back(displayable(tokenizer.piece(id)));
    width = std::max(width, cell_width(pieces.back()));
  }
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t blanks = static_cast<std::size_t>(width - cell_width(pieces[i]));
    text += fmt::format("{:>8}  {}{}  {}-{}", encoding.ids[i], pieces[i], std::string(blanks, ' '),
                        encoding.spans[i].begin, encoding.spans[i].end);
    if (pair && encoding.texts[i] >= 0) text += encoding.texts[i] == 0 ? "  A" : "  B";
    text += '\n';
  }
  return text;
}

// The text in a JSON string; empty for other lines.
std::optional<std::string> text_of(const std::string& line) {
  try {
    const JsonText json = JsonText::parse(line, {});
    const std::string* text = json.root().as_text();
    return text == nullptr ? std::nullopt : std::optional(*text);
  } catch (const Error&) {
    return {};
  }
}

// Each line of the file is a JSON string; the output has one object per line.
void tokenize_lines(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  std::istringstream lines(read_text(options.lines, kMostBytesOfLines));
  std::string line;
  bool has_told = false;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    const std::optional<std::string> text = text_of(line);
    if (!text)
      fail({.file = options.lines,
            .place = fmt::format("line {}", number),
            .found = "not a JSON string",
            .expected = "one like \"a text\""});
    const Encoding encoding = tokenizer.encode(*text, options.special);
    if (!has_told) has_told = tell_of_dropped_letters("tokenize", "text", *text, encoding.spans);
    print(as_json(tokenizer, encoding, false));
  }
}

void print_decoded(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  const std::string text =
      reworded([&] { return tokenizer.decode(options.decode, /*skip_special=*/!options.special); },
               [](ErrorParts& parts) {
                 parts.op = {};
                 parts.argument = "--decode";
               });
  const std::string repaired = repaired_utf8(text);
  if (!options.json) return print(repaired + "\n");
  Json json = {{"text", repaired}};
  if (const auto hex = token_hex(text)) json.set("bytes", *hex);
  print(json.dump() + "\n");
}

int run(const TokenizeOptions& options, const Given& given) {
  const bool decodes = given.has("--decode");
  const bool pair = given.has("--pair");
  const int inputs = (given.has("TEXT") ? 1 : 0) + (options.file.empty() ? 0 : 1) +
                     (options.lines.empty() ? 0 : 1) + (decodes ? 1 : 0);
  if (inputs != 1)
    fail({.found = inputs == 0 ? "no text is given" : "several texts are given",
          .expected = "one of TEXT, --file, --lines and --decode"});
  if (!options.model.empty() && !options.tokenizer.empty())
    fail({.found = "--model and --tokenizer are both given", .expected = "one of them"});
  if (pair && (decodes || !options.lines.empty()))
    fail({.argument = "--pair",
          .found = decodes ? "given with --decode" : "given with --lines",
          .expected = "it with TEXT or --file"});
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(options);
  if (!options.lines.empty()) {
    tokenize_lines(*tokenizer, options);
    return 0;
  }
  if (decodes) {
    print_decoded(*tokenizer, options);
    return 0;
  }
  const std::string text = given_text(options.text, options.file);
  const Encoding encoding = pair ? tokenizer->encode_pair(text, options.pair, options.special)
                                 : tokenizer->encode(text, options.special);
  if (!pair) tell_of_dropped_letters("tokenize", "text", text, encoding.spans);
  print(options.json ? as_json(*tokenizer, encoding, pair) : as_text(*tokenizer, encoding, pair));
  return 0;
}

void add_inputs(OptionList& list, TokenizeOptions& options) {
  add(list, {{.name = "TEXT", .to = &options.text, .help = "the text; - reads it from stdin"},
             {"--file", &options.file, "FILE", "read the text from a file, or from stdin with -"},
             {"--lines", &options.lines, "FILE",
              "a file of JSON strings, one per line; prints one JSON object per line"},
             {"--pair", &options.pair, "TEXT",
              "a second text: both as one sequence, each token with its text"},
             {"--decode", &options.decode, "IDS",
              "token ids (5,3,9): prints their text, special tokens with --special alone; bytes "
              "that are not a whole character as U+FFFD, with --json also in hex"}});
}

Run declare_tokenize(OptionList& list) {
  const auto options = std::make_shared<TokenizeOptions>();
  add_inputs(list, *options);
  add(list, {model_option(options->model),
             {"--tokenizer", &options->tokenizer, "FILE",
              "a tokenizer instead of a model's: a folder, a tokenizer.json, a SentencePiece "
              "model, vocab.txt or a .tiktoken file"},
             {.name = "--target",
              .to = &options->target,
              .help = "the target tokenizer of an encoder-decoder that has two"},
             {.name = "--special",
              .to = &options->special,
              .help = "add the special tokens of the post-processor"}});
  add_json_options(list, options->json, "ids, texts, pieces and byte offsets");
  return [options](const Given& given) { return run(*options, given); };
}

}  // namespace

Command tokenize_command() {
  return {"tokenize", "cuts a text into a model's tokens, and back",
          "  heed tokenize \"The cat sat on the mat.\"\n"
          "  heed tokenize \"time flies\" --pair \"fruit flies\"\n"
          "  heed tokenize --decode 533,1515,828\n"
          "  heed tokenize --file examples/story.txt --json\n"
          "  heed tokenize --lines texts.jsonl --tokenizer tokenizer.json",
          declare_tokenize};
}

}  // namespace heed::cli
