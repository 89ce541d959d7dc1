// BERT's vocab.txt, with the settings in tokenizer_config.json.
#include <sstream>

#include "base/wording.h"
#include "text/files/config_tokens.h"
#include "text/files/readers.h"
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
