#include "text/characters.h"

#include <set>

#include "text/pipeline_tokenizer.h"
#include "text/utf8.h"

namespace heed {

std::unique_ptr<Tokenizer> train_characters(std::string_view text) {
  require_utf8(text);
  if (text.empty())
    fail({.op = "tokenizer", .found = "the text to learn characters from is empty"});
  std::set<char32_t> codes;
  for (std::size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    codes.insert(character.code);
    i += character.bytes;
  }
  std::vector<std::string> pieces;
  for (const char32_t code : codes) pieces.push_back(to_utf8(code));
  // Without an <unk> in the vocabulary WordLevel refuses what it does not know.
  const Json model = {
      {"type", "WordLevel"}, {"vocab", vocabulary_json(pieces)}, {"unk_token", "<unk>"}};
  const Json each_character = {{"type", "Split"},
                               {"pattern", {{"Regex", "[\\s\\S]"}}},
                               {"behavior", "Isolated"},
                               {"invert", false}};
  return read_tokenizer(TokenizerFile(
      "characters",
      write_tokenizer_json(
          {.pre_tokenizer = each_character, .decoder = {{"type", "Fuse"}}, .model = model})));
}

}  // namespace heed
