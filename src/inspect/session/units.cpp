// Groups tokens into characters, words and sentences.
#include <algorithm>
#include <array>
#include <string>

#include "heed/look.h"
#include "heed/tokenizer.h"
#include "inspect/session/session_input.h"
#include "text/unicode/breaks.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"token", "character", "word", "sentence"};

struct TextPiece {
  std::size_t begin = 0;   // in the stretch's text
  std::size_t letter = 0;  // the first character that is not a space; `begin` if there is none
  bool is_spaces = false;
};

// Returns the first byte in [begin, end) that does not begin a space; `end` if there is none.
std::size_t skip_spaces(std::string_view text, std::size_t begin, std::size_t end) {
  while (begin < end) {
    const Character character = character_at(text, begin);
    if (character.bytes == 0 || !is_space(character.code)) break;
    begin += character.bytes;
  }
  return std::min(begin, end);
}

// A run of tokens without a special token between them, with the text that they spell.
class Stretch {
 public:
  void add(const SessionToken& token, const SessionToken* before) {
    const bool is_placed =
        before != nullptr && token.end > token.begin && before->end > before->begin;
    const bool is_apart = is_placed && (token.text != before->text || token.begin != before->end);
    const std::size_t begin = text_.size();
    text_ += token.bytes;
    const std::size_t letter = skip_spaces(text_, begin, text_.size());
    // The tokenizer skipped spaces between the tokens; the token's own text may begin with them.
    if (is_apart && letter == begin) {
      text_.insert(begin, 1, ' ');
      pieces_.push_back({begin, begin + 1});
      return;
    }
    const bool is_spaces = letter == text_.size();
    pieces_.push_back({begin, is_spaces ? begin : letter, is_spaces});
  }

  void end(std::int64_t first, TokenUnits& units) const {
    const std::vector<std::size_t> words = word_boundaries(text_);
    const std::vector<std::size_t> sentences = sentence_boundaries(text_);
    auto sentence = sentences.begin();
    std::size_t character = 0;  // where a character begins, at the piece's begin or after it
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const TextPiece& piece = pieces_[i];
      const std::int64_t token = first + static_cast<std::int64_t>(i);
      while (character < piece.begin)
        character += std::max<std::size_t>(1, character_at(text_, character).bytes);
      if (i == 0 || character == piece.begin) units.characters.push_back(token);
      const bool is_after_spaces = piece.letter > piece.begin || piece.is_spaces;
      if (i == 0 || is_after_spaces || std::ranges::binary_search(words, piece.begin))
        units.words.push_back(token);
      const auto next = std::upper_bound(sentence, sentences.end(), piece.letter);
      if (i == 0 || next != sentence) units.sentences.push_back(token);
      sentence = next;
    }
  }

 private:
  std::string text_;
  std::vector<TextPiece> pieces_;
};

bool stands_alone(const SessionToken& token, const Tokenizer* tokenizer) {
  return token.of_image || is_special(tokenizer, token);
}

}  // namespace

std::string_view unit_name(Unit unit) { return kNames.at(static_cast<std::size_t>(unit)); }

std::optional<Unit> unit_of(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Unit>(found - kNames.begin());
}

const std::vector<std::int64_t>& TokenUnits::of(Unit unit) const {
  static const std::vector<std::int64_t> kNone;
  const std::vector<std::int64_t>* const units[] = {&kNone, &characters, &words, &sentences};
  return *units[static_cast<std::size_t>(unit)];
}

TokenUnits token_units(std::span<const SessionToken> tokens, const Tokenizer* tokenizer) {
  TokenUnits units;
  for (std::size_t first = 0; first < tokens.size();) {
    if (stands_alone(tokens[first], tokenizer)) {
      for (auto* each : {&units.characters, &units.words, &units.sentences})
        each->push_back(static_cast<std::int64_t>(first));
      ++first;
      continue;
    }
    Stretch stretch;
    std::size_t at = first;
    for (; at < tokens.size() && !stands_alone(tokens[at], tokenizer); ++at)
      stretch.add(tokens[at], at > first ? &tokens[at - 1] : nullptr);
    stretch.end(static_cast<std::int64_t>(first), units);
    first = at;
  }
  return units;
}

}  // namespace heed
