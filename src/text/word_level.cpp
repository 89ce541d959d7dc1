#include "text/word_level.h"

#include <set>

#include "text/pipeline_tokenizer.h"
#include "text/utf8.h"

namespace heed {
namespace {

struct WordLevelParts {
  std::string_view name;
  std::span<const std::string> pieces;
  Json pre_tokenizer;
  Json decoder;  // null: pieces separated by spaces
};

std::unique_ptr<Tokenizer> word_level(const WordLevelParts& parts, const LearnedSpecials& special) {
  std::vector<std::string> pieces = special.tokens;
  pieces.insert(pieces.end(), parts.pieces.begin(), parts.pieces.end());
  // Without an <unk> in the vocabulary, WordLevel rejects unknown words.
  const Json model = {
      {"type", "WordLevel"}, {"vocab", vocabulary_json(pieces)}, {"unk_token", "<unk>"}};
  return read_tokenizer(TokenizerFile(
      std::string(parts.name), write_tokenizer_json({.pre_tokenizer = parts.pre_tokenizer,
                                                     .post_processor = special.post_processor(),
                                                     .decoder = parts.decoder,
                                                     .model = model,
                                                     .added_tokens = special.added()})));
}

}  // namespace

std::unique_ptr<Tokenizer> train_characters(std::string_view text, const LearnedSpecials& special) {
  require_utf8(text);
  if (text.empty())
    fail({.op = "tokenizer", .found = "the text to learn characters from is empty"});
  std::set<char32_t> codes;
  for_each_character(text, [&](char32_t code, std::string_view) { codes.insert(code); });
  std::vector<std::string> pieces;
  for (const char32_t code : codes) pieces.push_back(to_utf8(code));
  const Json each_character = {{"type", "Split"},
                               {"pattern", {{"Regex", "[\\s\\S]"}}},
                               {"behavior", "Isolated"},
                               {"invert", false}};
  return word_level({.name = "characters",
                     .pieces = pieces,
                     .pre_tokenizer = each_character,
                     .decoder = {{"type", "Fuse"}}},
                    special);
}

std::unique_ptr<Tokenizer> word_tokenizer(std::span<const std::string> words,
                                          const LearnedSpecials& special) {
  return word_level({.name = "words",
                     .pieces = words,
                     .pre_tokenizer = {{"type", "WhitespaceSplit"}},
                     .decoder = {}},
                    special);
}

}  // namespace heed
