#include "inspect/heads/scored_layer.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "base/sequences.h"
#include "inspect/rows/lines.h"
#include "inspect/session/session_input.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

bool has_word_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.bytes == 0) return true;  // a part of a character
    if (is_letter(character.code) || is_number(character.code) || is_mark(character.code))
      return true;
    at += character.bytes;
  }
  return false;
}

// Numbers kinds of tokens in order of first occurrence; sorting places takes a tenth of a map's
// time.
std::vector<std::int32_t> kinds_of(std::span<const SessionToken> tokens) {
  const auto bytes = [&](std::int32_t at) -> const std::string& {
    return tokens[static_cast<std::size_t>(at)].bytes;
  };
  std::vector<std::int32_t> sorted = ascending<std::int32_t>(std::ssize(tokens));
  std::vector<std::int32_t> kinds(tokens.size());
  std::ranges::stable_sort(sorted, {}, bytes);
  for (std::size_t i = 0; i < sorted.size(); ++i)  // first, the place of the first of each kind
    kinds[static_cast<std::size_t>(sorted[i])] =
        i > 0 && bytes(sorted[i]) == bytes(sorted[i - 1])
            ? kinds[static_cast<std::size_t>(sorted[i - 1])]
            : sorted[i];
  std::int32_t count = 0;
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    const auto first = static_cast<std::size_t>(kinds[at]);
    kinds[at] = first == at ? count++ : kinds[first];
  }
  return kinds;
}

double sum_of(std::span<const float> weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

double mean_of(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

bool is_word(const Tokenizer* tokenizer, const SessionToken& token) {
  return !is_special(tokenizer, token) && has_word_character(token.bytes);
}

namespace {

void add_images(std::span<const SessionToken> queries, std::span<const SessionToken> keys,
                ScoredLayer& scored) {
  for (std::size_t key = 0; key < keys.size(); ++key)
    if (keys[key].of_image) scored.cells.push_back(static_cast<std::int32_t>(key));
  if (scored.cells.empty()) return;
  const bool are_cells = std::ranges::all_of(queries, &SessionToken::of_image);
  for (const SessionToken& query : queries)
    scored.counted_by_images.push_back(are_cells || !query.of_image);
}

}  // namespace

ScoredLayer scored_layer(const Session& session, Stack stack, int layer) {
  const std::span<const SessionToken> queries = session.queries(stack);
  const std::span<const SessionToken> keys = session.keys(stack);
  const bool is_square = queries.data() == keys.data();
  const Tokenizer* tokenizer =
      keys.data() == session.tokens.data() ? session.tokenizer : session.source_tokenizer;
  const LayerAttention& attention = session.at({stack, layer, 0});
  ScoredLayer scored{.rows = queries.size()};
  if (attention.write_lengths.given()) scored.write_lengths = attention.write_lengths;
  scored.has_values = attention.v.dim(3) > 0;
  add_images(queries, keys, scored);
  if (is_square) scored.kinds = kinds_of(keys);
  std::int32_t word = -1;
  const std::vector<std::int64_t> words = token_units(keys, tokenizer).words;
  for (std::size_t key = 0; key < keys.size(); ++key) {
    if (key > 0 && !is_word(tokenizer, keys[key]))
      scored.delimiters.push_back(static_cast<std::int32_t>(key));
    if (stack == Stack::kCross && !is_special(tokenizer, keys[key]))
      scored.source.push_back(static_cast<std::int32_t>(key));
    if (!is_square) continue;
    if (word + 1 < std::ssize(words) &&
        words[static_cast<std::size_t>(word) + 1] == std::ssize(scored.words))
      ++word;
    scored.words.push_back(word);
  }
  return scored;
}

PairShares pair_shares(const LayerAttention& layer, int head, std::int64_t split) {
  PairShares sums;
  visit_lines(layer, {.head = head, .hidden = 0}, [&](const RowView& row) {
    const bool of_a = row.query < split;
    const auto second = static_cast<std::size_t>(split);
    (of_a ? sums.a_to_a : sums.b_to_a) += sum_of(row.weights.first(second));
    (of_a ? sums.a_to_b : sums.b_to_b) += sum_of(row.weights.subspan(second));
    sums.to_first += static_cast<double>(row.weights[0]);
  });
  const std::int64_t of_b = layer.queries() - split;
  return {.a_to_a = mean_of(sums.a_to_a, split),
          .a_to_b = mean_of(sums.a_to_b, split),
          .b_to_a = mean_of(sums.b_to_a, of_b),
          .b_to_b = mean_of(sums.b_to_b, of_b),
          .to_first = mean_of(sums.to_first, layer.queries())};
}

SourceOrder source_order(const LayerAttention& layer, int head) {
  SourceOrder sums;
  visit_lines(layer, {.head = head, .hidden = 0}, [&](const RowView& row) {
    const auto query = static_cast<std::size_t>(row.query);
    if (query < row.weights.size()) sums.in_order += static_cast<double>(row.weights[query]);
    sums.peak += static_cast<double>(std::ranges::max(row.weights));
  });
  return {.in_order = mean_of(sums.in_order, std::min(layer.queries(), layer.keys())),
          .peak = mean_of(sums.peak, layer.queries())};
}

void score_sides(HeadScores& head, const LayerAttention& layer, std::optional<std::int64_t> split) {
  if (split) head.shares = pair_shares(layer, head.place.head, *split);
  if (head.place.stack == Stack::kCross) head.order = source_order(layer, head.place.head);
}

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
