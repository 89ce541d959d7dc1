#include "inspect/rows/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "base/sequences.h"
#include "base/wording.h"
#include "heed/error.h"
#include "inspect/rows/lines.h"
#include "tensor/views.h"
#include "text/added_token.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

// For ASCII: capitals typed by the user still mean the word.
std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

// The last token of each run of tokens whose trimmed bytes are the word; `as` converts the bytes
// before comparing.
std::vector<std::int64_t> spelled(std::span<const SessionToken> tokens, std::string_view word,
                                  std::string (*as)(std::string_view)) {
  std::vector<std::int64_t> found;
  if (word.empty()) return found;
  for (std::size_t begin = 0; begin < tokens.size(); ++begin) {
    std::string text;
    for (std::size_t at = begin; at < tokens.size(); ++at) {
      text += as(tokens[at].bytes);
      const std::string_view run = trimmed(text);
      if (!word.starts_with(run)) break;
      if (run == word) found.push_back(static_cast<std::int64_t>(at));
      if (run.size() >= word.size()) break;
    }
  }
  sort_once(found);  // a word after a separate space token is found twice
  return found;
}

constexpr std::size_t kNearWords = 5;

bool is_word(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const bool is_joint = character.code == '-' || character.code == '\'' || character.code == U'’';
    if (character.bytes == 0 || !(is_word_character(character.code) || is_joint)) return false;
    at += character.bytes;
  }
  return !text.empty();
}

struct Word {
  std::string text;
  std::size_t last = 0;  // its last token, where it is found first
  std::size_t distance = 0;
};

// The words of the text, each once.
std::vector<Word> words_of(std::span<const SessionToken> tokens) {
  std::vector<Word> words;
  std::unordered_set<std::string> seen;
  const std::vector<std::int64_t> begins = token_units(tokens, nullptr).words;
  for (std::size_t word = 0; word < begins.size(); ++word) {
    const auto end = static_cast<std::size_t>(unit_end(begins, word, std::ssize(tokens)));
    std::string text;
    for (auto at = static_cast<std::size_t>(begins[word]); at < end; ++at) text += tokens[at].bytes;
    std::string shown(trimmed(text));
    if (!is_word(shown) || !seen.insert(shown).second) continue;
    words.push_back({.text = std::move(shown), .last = end - 1});
  }
  return words;
}

// `nearest: "Bob" (1), "book" (7)`
std::string near(std::span<const SessionToken> tokens, std::string_view word) {
  std::vector<Word> words = words_of(tokens);
  const std::string wanted = in_small_letters(word.substr(0, 64));
  for (Word& each : words)
    each.distance = edit_distance(in_small_letters(each.text.substr(0, 64)), wanted);
  std::ranges::stable_sort(words, {}, &Word::distance);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kNearWords, words.size()); ++i)
    names.push_back(fmt::format("\"{}\" ({})", displayable(words[i].text), words[i].last));
  return names.empty() ? "" : fmt::format("nearest: {}", joined(names, ", "));
}

// The tokens that spell the word; if there are none, ignoring case.
std::vector<std::int64_t> spelled(std::span<const SessionToken> tokens, const std::string& word) {
  constexpr auto as_it_is = [](std::string_view text) { return std::string(text); };
  std::vector<std::int64_t> found = spelled(tokens, trimmed(word), as_it_is);
  // A model that reads only lower case has none of the typed capitals.
  if (found.empty()) found = spelled(tokens, in_small_letters(trimmed(word)), in_small_letters);
  return found;
}

// `text` is its name in the error.
std::vector<std::int64_t> find_in(std::string_view text, std::span<const SessionToken> tokens,
                                  const std::string& word) {
  if (std::vector<std::int64_t> found = spelled(tokens, word); !found.empty()) return found;
  std::int64_t index = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  const bool is_number = error != std::errc::invalid_argument && end == word.data() + word.size();
  const bool is_there = index >= 0 && index < static_cast<std::int64_t>(tokens.size());
  if (is_number && error == std::errc() && is_there) return {index};
  fail({.op = "look",
        .found = fmt::format("\"{}\" is not in the {}, which has {}", word, text,
                             number_of(tokens.size(), "token")),
        .expected = fmt::format("a token, a word that tokens spell, or an index from 0 to {}",
                                tokens.size() - 1),
        .hint = is_number ? "" : near(tokens, word)});
}

// If the other text has the word: how to reach it.
std::string hint_for(Stack stack, bool is_key, std::string_view other, const WordSides& sides) {
  if (stack == Stack::kCross)
    return fmt::format("{} names a word of the {}", is_key ? sides.queries : sides.keys, other);
  return fmt::format("the stacks {} and cross have the {}",
                     stack == Stack::kEncoder ? "decoder" : "encoder", other);
}

constexpr char32_t kFirstWithoutSpaces = 0x0E00;  // Thai; scripts below it use spaces

// Only letters and numbers. `Lily's` is two words to a reader.
bool is_plain_word(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const bool is_part = is_letter(character.code) || is_number(character.code) ||
                         is_mark(character.code) || character.code == '-';
    if (character.bytes == 0 || character.code >= kFirstWithoutSpaces || !is_part) return false;
    at += character.bytes;
  }
  return !text.empty();
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

}  // namespace

std::vector<std::int64_t> find_word(std::span<const SessionToken> tokens, const std::string& word) {
  return find_in("text", tokens, word);
}

std::vector<std::int64_t> find_word(const Session& session, Stack stack, bool is_key,
                                    const std::string& word, const WordSides& sides) {
  const auto tokens = is_key ? session.keys(stack) : session.queries(stack);
  const bool is_target = tokens.data() == session.tokens.data();
  const bool has_source = !session.key_tokens.empty();
  const auto name = [&](bool of_target) { return of_target ? "target" : "source"; };
  const std::string_view op = is_key ? sides.keys : sides.queries;
  if (has_source && spelled(tokens, word).empty() &&
      !spelled(is_target ? session.key_tokens : session.tokens, word).empty())
    fail({.op = op,
          .found = fmt::format("\"{}\" is in the {}, not in the {}", word, name(!is_target),
                               name(is_target)),
          .hint = hint_for(stack, is_key, name(!is_target), sides)});
  return reworded([&] { return find_in(has_source ? name(is_target) : "text", tokens, word); },
                  [&](ErrorParts& parts) { parts.op = op; });
}

std::vector<WordPiece> pieces_of_words(std::span<const SessionToken> tokens) {
  std::vector<WordPiece> pieces(tokens.size());
  const std::vector<std::int64_t> begins = token_units(tokens, nullptr).words;
  for (std::size_t word = 0; word < begins.size(); ++word) {
    const auto begin = static_cast<std::size_t>(begins[word]);
    const auto end = static_cast<std::size_t>(unit_end(begins, word, std::ssize(tokens)));
    std::string text;
    bool are_letters = true;  // for a model that reads letters: they are pieces of every word
    for (std::size_t at = begin; at < end; ++at) {
      const std::string_view piece =
          at == begin ? without_spaces(tokens[at].bytes) : std::string_view(tokens[at].bytes);
      pieces[at] = {.begin = text.size(), .end = text.size() + piece.size()};
      text += piece;
      are_letters = are_letters && piece.size() < 2;
    }
    if (end - begin < 2 || are_letters || !is_plain_word(text)) continue;
    for (std::size_t at = begin; at < end; ++at) pieces[at].word = text;
  }
  return pieces;
}

std::string word_of(const Tokenizer* tokenizer, TokenId id) {
  return tokenizer != nullptr ? tokenizer->token_bytes(id) : fmt::format("#{}", id);
}

NextWords likeliest(std::span<const float> logits, const Tokenizer* tokenizer, std::int64_t top) {
  if (top < 0) fail("next_words", "top", top, "0 or more");
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  const auto logit_of = [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
  const std::vector<TokenId> ids = largest_ids(std::ssize(logits), top, logit_of);
  NextWords answer{
      .words = {}, .rest_count = std::ssize(logits) - std::ssize(ids), .rest_probability = 1};
  for (const TokenId id : ids) {
    const double probability = std::exp(logit_of(id) - largest) / sum;
    answer.words.push_back({id, word_of(tokenizer, id), probability, logit_of(id)});
    answer.rest_probability -= probability;
  }
  answer.rest_probability = std::max(answer.rest_probability, 0.0);
  return answer;
}

NextWords next_words(const Session& session, std::int64_t top) {
  if (!session.logits.given() || !session.info.writes()) return {};
  return likeliest(matrix_row(session.logits, session.logits.dim(0) - 1), session.tokenizer, top);
}

std::optional<TokenId> mask_token_of(const Session& session) {
  const ModelInfo& info = session.info;
  if (info.causal || info.reads_source() || !info.has_logits || session.tokenizer == nullptr)
    return {};
  const TokenId id = mask_token_of(*session.tokenizer);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::vector<std::int64_t> mask_places(const Session& session) {
  std::vector<std::int64_t> places;
  const std::optional<TokenId> mask = mask_token_of(session);
  for (std::int64_t at = 0; mask && at < std::ssize(session.tokens); ++at)
    if (session.tokens[static_cast<std::size_t>(at)].id == *mask) places.push_back(at);
  return places;
}

std::vector<FilledMask> filled_masks(const Session& session, std::int64_t top) {
  std::vector<FilledMask> filled;
  if (!session.logits.given() || session.logits.dim(0) != std::ssize(session.tokens)) return filled;
  for (const std::int64_t at : mask_places(session))
    filled.push_back({at, likeliest(matrix_row(session.logits, at), session.tokenizer, top)});
  return filled;
}

}  // namespace heed
