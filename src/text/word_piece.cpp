#include "text/word_piece.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "text/merge_learner.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text/pipeline_tokenizer.h"
#include "text/utf8.h"

namespace heed {

std::string word_piece_json(const WordPieceContent& content) {
  const Json normalizer = {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", content.handle_chinese},
                           {"strip_accents", content.strip_accents},
                           {"lowercase", content.lowercase}};
  const Json model = {{"type", "WordPiece"},
                      {"unk_token", content.unknown},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", vocabulary_json(content.pieces)}};
  return write_tokenizer_json(
      {.normalizer = normalizer,
       .pre_tokenizer = {{"type", "BertPreTokenizer"}},
       .post_processor = content.post_processor,
       .decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}},
       .model = model,
       .added_tokens = content.added_tokens});
}

namespace {

constexpr std::string_view kInside = "##";
constexpr std::string_view kUnknown = "[UNK]";
constexpr std::size_t kMostCharacters = 1000;  // like the trainer of `tokenizers`

template <typename Key>
using Counts = std::vector<std::pair<Key, std::int64_t>>;

// One paragraph at a time, so that normalised text is not kept for the whole text.
Counts<std::string> count_words(std::string_view text, const TokenizerFile& file) {
  const Normalizer normalized = read_normalizer(file, file.component("normalizer"));
  const PreTokenizer cut = read_pre_tokenizer(file, file.component("pre_tokenizer"));
  std::unordered_map<std::string, std::int64_t> counts;
  std::vector<Piece> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    Arena arena(end - begin);
    words.clear();
    cut(normalized({.text = text.substr(begin, end - begin)}, arena), arena, words);
    for (const Piece& word : words) ++counts[std::string(word.text)];
    begin = end;
  }
  Counts<std::string> sorted(counts.begin(), counts.end());
  std::ranges::sort(sorted);
  return sorted;
}

std::vector<std::string> characters_of(std::string_view word) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < word.size(); at += characters.back().size())
    characters.emplace_back(word.substr(at, character_at(word, at).bytes));
  return characters;
}

// The first symbol plain, the others in the form for the inside of a word.
std::vector<std::string> symbols_of(std::string_view word) {
  std::vector<std::string> symbols = characters_of(word);
  for (std::size_t i = 1; i < symbols.size(); ++i) symbols[i].insert(0, kInside);
  return symbols;
}

// The most frequent characters of all words, sorted.
std::vector<std::string> alphabet_of(const Counts<std::string>& words) {
  std::unordered_map<std::string, std::int64_t> counts;
  for (const auto& [word, count] : words)
    for (const std::string& character : characters_of(word)) counts[character] += count;
  Counts<std::string> characters(counts.begin(), counts.end());
  std::ranges::sort(characters, [](const auto& a, const auto& b) {
    return std::pair(-a.second, std::string_view(a.first)) <
           std::pair(-b.second, std::string_view(b.first));
  });
  characters.resize(std::min(characters.size(), kMostCharacters));
  std::vector<std::string> alphabet;
  for (const auto& [character, count] : characters) alphabet.push_back(character);
  std::ranges::sort(alphabet);
  return alphabet;
}

LearnedSpecials with_unknown(LearnedSpecials special) {
  if (std::ranges::find(special.tokens, kUnknown) == special.tokens.end())
    special.tokens.emplace_back(kUnknown);
  return special;
}

// Special tokens, characters, and characters inside words in their form there.
std::vector<std::string> first_pieces(const LearnedSpecials& special,
                                      const std::vector<std::string>& alphabet,
                                      const Counts<std::string>& words, std::int64_t wanted) {
  std::set<std::string> inside;
  for (const auto& [word, count] : words) {
    const std::vector<std::string> symbols = symbols_of(word);
    inside.insert(symbols.begin() + 1, symbols.end());
  }
  std::vector<std::string> pieces = special.tokens;
  pieces.insert(pieces.end(), alphabet.begin(), alphabet.end());
  pieces.insert(pieces.end(), inside.begin(), inside.end());
  if (wanted < std::ssize(pieces))
    fail("tokenizer", "vocabulary_size", wanted,
         fmt::format("at least {}: {} special tokens, {} that the text has "
                     "and {} that it has inside of words",
                     pieces.size(), special.tokens.size(), number_of(alphabet.size(), "character"),
                     inside.size()));
  return pieces;
}

}  // namespace

std::unique_ptr<Tokenizer> train_word_piece(std::string_view text,
                                            const WordPieceTraining& training) {
  require_utf8(text);
  const LearnedSpecials special = with_unknown(training.special);
  WordPieceContent content = {.pieces = special.tokens,
                              .added_tokens = special.added(),
                              .post_processor = special.post_processor()};
  Counts<std::string> words =
      count_words(text, TokenizerFile("WordPiece", word_piece_json(content)));
  const std::vector<std::string> alphabet = alphabet_of(words);
  std::erase_if(words, [&](const auto& word) {
    return !std::ranges::all_of(characters_of(word.first), [&](const std::string& character) {
      return std::ranges::binary_search(alphabet, character);
    });
  });
  MergeLearner learner(first_pieces(special, alphabet, words, training.vocabulary_size),
                       std::string(kInside));
  for (const auto& [word, count] : words) learner.add_word(symbols_of(word), count);
  learner.learn(static_cast<std::size_t>(training.vocabulary_size));
  content.pieces = learner.pieces();
  return read_tokenizer(TokenizerFile("WordPiece", word_piece_json(content)));
}

}  // namespace heed
