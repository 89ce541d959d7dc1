#include "text/characters.h"

#include <fmt/format.h>

#include <set>

#include "text/readers.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"

namespace heed {
namespace {

enum class Outside { kDropped, kError };  // what happens to a character that has no token

class Characters final : public VocabularyTokenizer {
 public:
  Characters(const TokenizerFile& file, Outside outside)
      : VocabularyTokenizer(file, [](std::string_view piece) { return std::string(piece); }),
        outside_(outside) {}

 private:
  void encode_segment(std::string_view text, std::int64_t offset, Encoding& out) const override {
    for (std::size_t i = 0; i < text.size();) {
      const Character character = character_at(text, i);
      const TokenId id = find(text.substr(i, character.bytes));
      const std::int64_t begin = offset + static_cast<std::int64_t>(i);
      if (id < 0 && outside_ == Outside::kError)
        fail({.op = "tokenizer",
              .place = fmt::format("byte {}", begin),
              .found = fmt::format("'{}' (U+{:04X}) is none of the {} characters of the vocabulary",
                                   displayable(text.substr(i, character.bytes)),
                                   static_cast<std::uint32_t>(character.code), vocabulary_size())});
      i += character.bytes;
      if (id < 0) continue;
      out.ids.push_back(id);
      out.spans.push_back({begin, offset + static_cast<std::int64_t>(i)});
    }
  }

  Outside outside_;
};

// One piece a character. `WordLevel` refuses what it does not know, as heed does.
const Json kEachCharacter = {{"type", "Split"},
                             {"pattern", {{"Regex", "[\\s\\S]"}}},
                             {"behavior", "Isolated"},
                             {"invert", false}};

bool is_bpe_without_merges(const TokenizerFile& file) {
  const Json& merges = file.model()["merges"];
  return file.type_of("model") == "BPE" && file.type_of("pre_tokenizer") == "null" &&
         merges.is_array() && merges.items().empty();
}

bool is_word_level_by_character(const TokenizerFile& file) {
  return file.type_of("model") == "WordLevel" && file.component("pre_tokenizer") == kEachCharacter;
}

}  // namespace

bool is_characters(const TokenizerFile& file) {
  return is_bpe_without_merges(file) || is_word_level_by_character(file);
}

std::unique_ptr<Tokenizer> read_characters(const TokenizerFile& file) {
  file.require_type("normalizer", {"null"});
  file.require_type("decoder", {"Fuse"});
  if (is_word_level_by_character(file)) {
    const Json& unknown = file.model()["unk_token"];
    if (unknown.is_text() && file.vocabulary().find(*unknown.as_text()) >= 0)
      file.refuse(unknown, "model.unk_token", "a text that is not in the vocabulary",
                  ErrorCode::kUnsupported);
    return std::make_unique<Characters>(file, Outside::kError);
  }
  file.require_option("byte_fallback", false);
  file.require_option("ignore_merges", false);
  file.require_option("unk_token", nullptr);
  file.require_option("continuing_subword_prefix", "");
  file.require_option("end_of_word_suffix", "");
  return std::make_unique<Characters>(file, Outside::kDropped);
}

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
  const Json model = {
      {"type", "WordLevel"}, {"vocab", vocabulary_json(pieces)}, {"unk_token", "<unk>"}};
  return read_characters(TokenizerFile(
      "characters",
      write_tokenizer_json(
          {.pre_tokenizer = kEachCharacter, .decoder = {{"type", "Fuse"}}, .model = model})));
}

}  // namespace heed
