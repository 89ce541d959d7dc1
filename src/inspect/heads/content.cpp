#include <algorithm>
#include <string>
#include <string_view>

#include "heed/look.h"
#include "inspect/heads/scored_layer.h"
#include "inspect/rows/lines.h"
#include "text/utf8.h"

namespace heed {
namespace {

// English. Pronouns are excluded: readers want to see what they refer to.
constexpr std::string_view kGrammar[] = {
    "a",     "about", "after", "all",   "am",      "an",    "and",  "any",   "are",   "as",
    "at",    "be",    "been",  "being", "because", "but",   "by",   "can",   "could", "did",
    "do",    "does",  "down",  "each",  "every",   "for",   "from", "had",   "has",   "have",
    "how",   "if",    "in",    "into",  "is",      "many",  "may",  "might", "more",  "most",
    "much",  "must",  "no",    "nor",   "not",     "of",    "on",   "or",    "out",   "over",
    "shall", "so",    "some",  "such",  "should",  "than",  "that", "the",   "then",  "there",
    "these", "this",  "those", "to",    "too",     "under", "up",   "upon",  "very",  "was",
    "were",  "when",  "where", "while", "will",    "with",  "would"};

std::string in_small_letters(std::string_view text) {
  std::string small;
  for (const char c : text)
    if (c != ' ') small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// Japanese grammar is written in hiragana, and content mostly is not.
bool is_hiragana(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.code < 0x3041 || character.code > 0x309F) return false;
    at += character.bytes;
  }
  return !text.empty();
}

bool is_grammar(const SessionToken& token) {
  const std::string word = in_small_letters(token.bytes);
  return std::ranges::find(kGrammar, word) != std::end(kGrammar) || is_hiragana(word);
}

// Halves the content of the first content word.
void discount_first_word(std::span<const std::int64_t> words, std::vector<double>& content) {
  const auto first = std::ranges::find_if(content, [](double each) { return each > 0; });
  for (std::size_t word = 0; word < words.size(); ++word) {
    const auto end = content.begin() + unit_end(words, word, std::ssize(content));
    if (end <= first) continue;
    std::for_each(first, end, [](double& each) { each /= 2; });
    return;
  }
}

}  // namespace

std::vector<double> content_of(std::span<const SessionToken> tokens, const Tokenizer* tokenizer,
                               FirstWord first) {
  std::vector<double> content(tokens.size(), 0);
  const TokenUnits units = token_units(tokens, tokenizer);
  for (std::size_t word = 0; word < units.words.size(); ++word) {
    const auto begin = static_cast<std::size_t>(units.words[word]);
    const auto end = static_cast<std::size_t>(unit_end(units.words, word, std::ssize(tokens)));
    for (std::size_t at = begin; at < end; ++at)
      if (is_word(tokenizer, tokens[at]))
        content[at] = end - begin > 1 || is_grammar(tokens[at]) ? 0.5 : 1;
  }
  for (std::size_t one = 0; one < units.characters.size(); ++one) {
    const auto begin = static_cast<std::size_t>(units.characters[one]);
    const auto end = static_cast<std::size_t>(unit_end(units.characters, one, std::ssize(tokens)));
    for (std::size_t at = begin; end - begin > 1 && at < end; ++at)
      content[at] = std::min(content[at], 0.125);
  }
  if (first == FirstWord::kHalf) discount_first_word(units.words, content);
  return content;
}

}  // namespace heed
