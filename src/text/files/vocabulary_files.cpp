// Byte-level BPE in separate files: vocab.json with merges.txt (GPT-2), and tiktoken's ranks.
// BERT's vocab.txt, with the settings in tokenizer_config.json.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/wording.h"
#include "text/byte_alphabet.h"
#include "text/byte_bpe.h"
#include "text/files/config_tokens.h"
#include "text/files/readers.h"
#include "text/pipeline/base64.h"
#include "text/pipeline/pattern.h"
#include "text/pipeline_tokenizer.h"
#include "text/word_piece.h"

namespace heed {
namespace {

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::istringstream stream(content_of(path));
  for (std::string line; std::getline(stream, line); lines.push_back(line))
    if (line.ends_with('\r')) line.pop_back();
  return lines;
}

// One "left right" per line, after a line with the version.
std::vector<std::string> read_merges(const std::filesystem::path& path,
                                     const Vocabulary& vocabulary) {
  std::vector<std::string> merges;
  int number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string left = line.substr(0, blank);
    const std::string right = line.substr(std::min(blank + 1, line.size()));
    for (const std::string& piece : {left, right, left + right})
      if (vocabulary.find(piece) < 0)
        fail({.code = ErrorCode::kCorrupt,
              .file = path.string(),
              .place = fmt::format("line {}", number),
              .argument = "a merge",
              .found = fmt::format("'{}'", displayable(line)),
              .expected = "two pieces that are in the vocabulary, as their joint form is"});
    merges.push_back(line);
  }
  return merges;
}

constexpr std::size_t kMostRanks = std::size_t{1} << 21;  // more than any vocabulary has

struct Ranks {
  std::vector<std::string> tokens;  // bytes, by rank
  Vocabulary pieces;                // in the byte alphabet
};

[[noreturn]] void refuse_line(const std::filesystem::path& path, int number, Phrase expected) {
  fail({.code = ErrorCode::kCorrupt,
        .file = path.string(),
        .place = fmt::format("line {}", number),
        .argument = "the line",
        .found = "something else",
        .expected = std::move(expected)});
}

Ranks read_ranks(const std::filesystem::path& path) {
  Ranks ranks;
  int number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    if (line.empty()) continue;
    const std::size_t blank = line.find(' ');
    const auto bytes = decode_base64(line.substr(0, blank));
    std::size_t rank = 0;
    const char* begin = line.data() + std::min(blank, line.size() - 1) + 1;
    const auto [end, error] = std::from_chars(begin, line.data() + line.size(), rank);
    if (blank == std::string::npos || !bytes || bytes->empty() || error != std::errc() ||
        end != line.data() + line.size() || rank < ranks.tokens.size() || rank >= kMostRanks)
      refuse_line(path, number,
                  "a token in base64, a blank and its rank, which rises from line to line");
    std::string piece = piece_of_bytes(*bytes);
    if (!ranks.pieces.ids.emplace(piece, static_cast<TokenId>(rank)).second)
      refuse_line(path, number, "a token that did not come before");
    ranks.pieces.pieces.resize(rank);  // p50k_base omits its special token's rank
    ranks.pieces.pieces.push_back(std::move(piece));
    ranks.tokens.resize(rank);
    ranks.tokens.push_back(*bytes);
  }
  return ranks;
}

// tiktoken joins the neighbours whose joint token has the lowest rank: so every split of a token
// into two is a merge with its rank.
std::vector<std::string> merges_of(const Ranks& ranks) {
  std::vector<std::string> merges;
  for (const std::string& token : ranks.tokens)
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const std::string left = piece_of_bytes(token.substr(0, cut));
      const std::string right = piece_of_bytes(token.substr(cut));
      if (ranks.pieces.find(left) >= 0 && ranks.pieces.find(right) >= 0)
        merges.push_back(left + ' ' + right);
    }
  return merges;
}

struct TiktokenName {
  std::string_view stem;
  std::string_view pattern;  // empty: GPT-2's
  std::vector<std::pair<std::string_view, TokenId>> special;
};

const std::vector<TiktokenName>& tiktoken_names() {
  static const std::vector<TiktokenName> names = {
      {"r50k_base", "", {{"<|endoftext|>", 50256}}},
      {"p50k_base", "", {{"<|endoftext|>", 50256}}},
      {"cl100k_base",
       kGpt4Words,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k_base", kGpt4oWords, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}};
  return names;
}

const TiktokenName& name_of(const std::filesystem::path& path) {
  for (const TiktokenName& name : tiktoken_names())
    if (name.stem == path.stem().string()) return name;
  fail({.code = ErrorCode::kUnsupported,
        .file = path.string(),
        .argument = "the file's name",
        .found = path.stem().string(),
        .expected =
            "r50k_base, p50k_base, cl100k_base or o200k_base, which selects how words are cut"});
}

// For GPT-2's class, if tokenizer_config.json requests them.
void add_ends(const Json& config, const Vocabulary& vocabulary, ByteBpeContent& content) {
  const auto asked = [&](const char* flag, const char* token) -> std::string {
    if (!config[flag].as_flag().value_or(false)) return {};
    const std::string name = token_name(config, token, "<|endoftext|>");
    return vocabulary.find(name) >= 0 ? name : "";
  };
  const std::string begin = asked("add_bos_token", "bos_token");
  const std::string end = asked("add_eos_token", "eos_token");
  if (!begin.empty() || !end.empty())
    content.post_processor = template_json(vocabulary, begin, end, begin);
}

// The additions of transformers' class for such files: GPT-2, RoBERTa or Qwen2.
void set_family(const Json& config, const Vocabulary& vocabulary, ByteBpeContent& content) {
  const auto add = [&](std::string_view name) {
    const TokenId id = vocabulary.find(name);
    if (id >= 0)
      content.added_tokens.push_back(
          {.content = std::string(name), .id = id, .special = true, .lstrip = name == "<mask>"});
  };
  add("<|endoftext|>");
  const std::string family = token_name(config, "tokenizer_class", "");
  if (family.starts_with("Qwen2")) {
    content.normalizer = "NFC";
    content.pattern = kQwen2Words;
  }
  const bool is_roberta = family.empty()
                              ? vocabulary.find("<|endoftext|>") < 0 &&
                                    vocabulary.find("<s>") >= 0 && vocabulary.find("</s>") >= 0
                              : family.starts_with("Roberta");
  if (!is_roberta) return add_ends(config, vocabulary, content);
  for (const char* name : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) add(name);
  const std::string begin = token_name(config, "cls_token", "<s>");
  const std::string end = token_name(config, "sep_token", "</s>");
  content.post_processor = {{"type", "RobertaProcessing"},
                            {"sep", Json::array({end, vocabulary.find(end)})},
                            {"cls", Json::array({begin, vocabulary.find(begin)})},
                            {"trim_offsets", true},
                            {"add_prefix_space", content.add_prefix_space}};
}

}  // namespace

std::unique_ptr<Tokenizer> read_vocabulary_and_merges(const std::filesystem::path& vocabulary_file,
                                                      const std::filesystem::path& merges_file) {
  const JsonText json =
      JsonText::parse(content_of(vocabulary_file), {.file = vocabulary_file.string()});
  const JsonText config = read_tokenizer_config(merges_file.parent_path());
  Vocabulary vocabulary;
  vocabulary.add_all(json, json.root(), "the vocabulary");
  ByteBpeContent content = {
      .merges = read_merges(merges_file, vocabulary),
      .add_prefix_space = config.root()["add_prefix_space"].as_flag().value_or(false)};
  set_family(config.root(), vocabulary, content);
  add_tokens(config, added_tokens_of(config, merges_file.parent_path()), vocabulary,
             content.added_tokens);
  content.pieces = vocabulary.pieces;
  return read_tokenizer(TokenizerFile(merges_file.string(), byte_bpe_json(content)));
}

std::unique_ptr<Tokenizer> read_tiktoken(const std::filesystem::path& path) {
  const TiktokenName& name = name_of(path);
  const Ranks ranks = read_ranks(path);
  ByteBpeContent content = {.pieces = ranks.pieces.pieces,
                            .merges = merges_of(ranks),
                            .added_tokens = {},
                            .pattern = std::string(name.pattern),
                            .ignore_merges = true};
  for (const auto& [token, id] : name.special)
    content.added_tokens.push_back({.content = std::string(token), .id = id, .special = true});
  return read_tokenizer(TokenizerFile(path.string(), byte_bpe_json(content)));
}

namespace {

Vocabulary number_lines(const std::filesystem::path& path) {
  Vocabulary vocabulary;
  for (const std::string& line : read_lines(path)) {
    const auto id = static_cast<TokenId>(vocabulary.pieces.size());
    vocabulary.pieces.push_back(line);
    if (!line.empty()) vocabulary.ids.insert_or_assign(line, id);
  }
  return vocabulary;
}

/// The names of the model's tokens.
struct Names {
  std::string pad, unknown, begin, end, mask;

  explicit Names(const Json& config)
      : pad(token_name(config, "pad_token", "[PAD]")),
        unknown(token_name(config, "unk_token", "[UNK]")),
        begin(token_name(config, "cls_token", "[CLS]")),
        end(token_name(config, "sep_token", "[SEP]")),
        mask(token_name(config, "mask_token", "[MASK]")) {}
};

void check(const Vocabulary& vocabulary, const Names& names, const std::filesystem::path& path) {
  for (const std::string& name : {names.unknown, names.begin, names.end})
    if (vocabulary.find(name) < 0)
      fail_in(path.string(), "the vocabulary", "one without " + name,
              "a WordPiece vocabulary, a piece per line");
}

}  // namespace

std::unique_ptr<Tokenizer> read_word_piece_file(const std::filesystem::path& path) {
  const JsonText config = read_tokenizer_config(path.parent_path());
  const Names names(config.root());
  Vocabulary vocabulary = number_lines(path);
  check(vocabulary, names, path);
  std::vector<AddedToken> added;
  for (const std::string& name : {names.pad, names.unknown, names.begin, names.end, names.mask})
    if (const TokenId id = vocabulary.find(name); id >= 0)
      added.push_back({.content = name, .id = id, .special = true});
  add_tokens(config, added_tokens_of(config, path.parent_path()), vocabulary, added);
  return read_tokenizer(TokenizerFile(
      path.string(),
      word_piece_json(
          {.pieces = vocabulary.pieces,
           .added_tokens = added,
           .post_processor = template_json(vocabulary, names.begin, names.end),
           .unknown = names.unknown,
           .strip_accents = config.root()["strip_accents"],
           .lowercase = config.root()["do_lower_case"].as_flag().value_or(true),
           .handle_chinese = config.root()["tokenize_chinese_chars"].as_flag().value_or(true)})));
}

}  // namespace heed
