#include "text/byte_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "heed/error.h"
#include "text/byte_alphabet.h"
#include "text/merge_learner.h"
#include "text/pipeline/added_tokens.h"
#include "text/pipeline/pattern.h"
#include "text/pipeline_tokenizer.h"
#include "text/tokenizer_file.h"
#include "text/unicode/normal_form.h"
#include "text/utf8.h"

namespace heed {
namespace {

Json byte_level(const ByteBpeContent& content) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", content.add_prefix_space},
          {"trim_offsets", false},
          {"use_regex", content.pattern.empty()}};
}

Json pre_tokenizer(const ByteBpeContent& content) {
  Json parts = Json::array();
  if (content.digits_alone) parts.push(Json({{"type", "Digits"}, {"individual_digits", true}}));
  if (!content.pattern.empty())
    parts.push(Json({{"type", "Split"},
                     {"pattern", Json({{"Regex", content.pattern}})},
                     {"behavior", "Isolated"},
                     {"invert", false}}));
  if (parts.items().empty()) return byte_level(content);
  parts.push(byte_level(content));
  return {{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
}

Json model(const ByteBpeContent& content) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", content.ignore_merges},
          {"vocab", vocabulary_json(content.pieces)},
          {"merges", content.merges}};
}

}  // namespace

std::unique_ptr<Tokenizer> train_qwen2_characters(std::string_view text) {
  require_utf8(text);
  std::set<std::string> parts;  // of characters: their first byte, two bytes, ...
  std::set<std::string> bytes;
  for (const FormedCharacter& character :
       normal_form(text, {.compatible = false, .composed = true})) {
    const std::string whole = to_utf8(character.code);
    for (std::size_t end = 1; end <= whole.size(); ++end) {
      parts.insert(whole.substr(0, end));
      bytes.insert(whole.substr(end - 1, 1));
    }
  }
  parts.insert(bytes.begin(), bytes.end());
  ByteBpeContent content = {.pattern = std::string(kQwen2Words), .normalizer = "NFC"};
  for (const std::string& part : parts) {
    content.pieces.push_back(piece_of_bytes(part));
    if (part.size() > 1)
      content.merges.push_back(piece_of_bytes(part.substr(0, part.size() - 1)) + " " +
                               piece_of_bytes(part.substr(part.size() - 1)));
  }
  return read_tokenizer(TokenizerFile("characters", byte_bpe_json(content)));
}

std::string byte_bpe_json(const ByteBpeContent& content) {
  Json normalizer;
  if (!content.normalizer.empty()) normalizer = {{"type", content.normalizer}};
  return write_tokenizer_json({.normalizer = normalizer,
                               .pre_tokenizer = pre_tokenizer(content),
                               .post_processor = content.post_processor.is_null()
                                                     ? byte_level(content)
                                                     : content.post_processor,
                               .decoder = byte_level(content),
                               .model = model(content),
                               .added_tokens = content.added_tokens});
}

namespace {

// How often each word occurs in the text, between special tokens.
std::vector<std::pair<std::string_view, std::int64_t>> count_words(std::string_view text,
                                                                   const AddedTokens& special) {
  const Pattern words_of = read_regex(kGpt2Words);
  std::unordered_map<std::string_view, std::int64_t> counts;
  for (const Segment& segment : special.split({.text = text})) {
    if (segment.id >= 0) continue;
    const std::string_view part = segment.piece.text;
    for (const auto& [begin, end] : words_of(part)) ++counts[part.substr(begin, end - begin)];
  }
  std::vector<std::pair<std::string_view, std::int64_t>> words(counts.begin(), counts.end());
  std::ranges::sort(words);
  return words;
}

std::vector<std::string> byte_symbols(std::string_view word) {
  std::vector<std::string> symbols;
  for (const char byte : word)
    symbols.emplace_back(byte_characters()[static_cast<unsigned char>(byte)]);
  return symbols;
}

// Special tokens have the first ids.
std::vector<AddedToken> special_tokens(const ByteBpeTraining& training) {
  std::vector<AddedToken> special;
  for (const std::string& content : training.special_tokens) {
    const bool is_new = std::ranges::find(special, content, &AddedToken::content) == special.end();
    if (content.empty() || !is_new)
      fail("tokenizer", "special_tokens",
           content.empty() ? "a list with an empty one"
                           : fmt::format("a list with '{}' twice", content),
           "texts that differ");
    special.push_back(
        {.content = content, .id = static_cast<TokenId>(special.size()), .special = true});
  }
  return special;
}

}  // namespace

std::unique_ptr<Tokenizer> train_byte_bpe(std::string_view text, const ByteBpeTraining& training) {
  require_utf8(text);
  const std::vector<AddedToken> special = special_tokens(training);
  std::vector<std::string> pieces = training.special_tokens;
  std::vector<std::string> bytes(byte_characters().begin(), byte_characters().end());
  std::ranges::sort(bytes);  // by code point, which is UTF-8's order
  pieces.insert(pieces.end(), bytes.begin(), bytes.end());
  if (training.vocabulary_size < static_cast<std::int64_t>(pieces.size()))
    fail(
        "tokenizer", "vocabulary_size", training.vocabulary_size,
        fmt::format("at least {}: {} special tokens and 256 bytes", pieces.size(), special.size()));
  MergeLearner learner(std::move(pieces));
  for (const auto& [word, count] : count_words(text, AddedTokens(special)))
    learner.add_word(byte_symbols(word), count);
  learner.learn(static_cast<std::size_t>(training.vocabulary_size));
  const LearnedSpecials frame = {training.special_tokens, training.begin, training.end};
  return read_tokenizer(
      TokenizerFile("byte-level BPE", byte_bpe_json({.pieces = learner.pieces(),
                                                     .merges = learner.merges(),
                                                     .added_tokens = special,
                                                     .post_processor = frame.post_processor()})));
}

}  // namespace heed
