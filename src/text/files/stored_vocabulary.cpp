#include "text/files/stored_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/wording.h"
#include "text/byte_bpe.h"
#include "text/files/config_tokens.h"
#include "text/files/sentence_piece_json.h"
#include "text/pipeline/pattern.h"
#include "text/pipeline_tokenizer.h"
#include "text/utf8.h"
#include "text/word_piece.h"

namespace heed {
namespace {

using Type = SentencePieceModel::Type;

[[noreturn]] void refuse(const StoredVocabulary& stored, Phrase argument, Phrase found,
                         Phrase expected, ErrorCode code = ErrorCode::kCorrupt) {
  fail_in(stored.file, std::move(argument), std::move(found), std::move(expected), code);
}

Type type_of(const StoredVocabulary& stored, std::size_t id) {
  return stored.types.empty() ? Type::kNormal : static_cast<Type>(stored.types[id]);
}

std::string piece_at(const StoredVocabulary& stored, std::int64_t id) {
  return id < 0 ? "" : stored.pieces[static_cast<std::size_t>(id)];
}

void check(const StoredVocabulary& stored) {
  const std::size_t count = stored.pieces.size();
  if (count == 0) refuse(stored, "tokenizer.ggml.tokens", "empty", "the pieces of a vocabulary");
  if (!stored.types.empty() && stored.types.size() != count)
    refuse(stored, "tokenizer.ggml.token_type", number_of(stored.types.size(), "item"),
           fmt::format("{}, one a token", count));
  for (const std::int64_t type : stored.types)
    if (type < 1 || type > 6) refuse(stored, "tokenizer.ggml.token_type", type, "1 to 6");
}

Vocabulary vocabulary_of(const StoredVocabulary& stored) {
  Vocabulary vocabulary;
  vocabulary.pieces = stored.pieces;
  for (std::size_t id = 0; id < stored.pieces.size(); ++id)
    vocabulary.ids.emplace(stored.pieces[id], static_cast<TokenId>(id));
  return vocabulary;
}

// Controls are special; user-defined symbols are tokens, but part of the text. A repeated piece is
// found by its first id.
std::vector<AddedToken> added_tokens_of(const StoredVocabulary& stored,
                                        const Vocabulary& vocabulary) {
  std::vector<AddedToken> added;
  for (std::size_t id = 0; id < stored.pieces.size(); ++id) {
    const Type type = type_of(stored, id);
    const bool special = type == Type::kControl || type == Type::kUnknown;
    if (!special && type != Type::kUserDefined) continue;
    if (stored.pieces[id].empty() || vocabulary.find(stored.pieces[id]) != static_cast<TokenId>(id))
      continue;
    added.push_back(
        {.content = stored.pieces[id], .id = static_cast<TokenId>(id), .special = special});
  }
  return added;
}

std::unique_ptr<Tokenizer> tokenizer_of(const StoredVocabulary& stored, std::string json) {
  return read_tokenizer(TokenizerFile(stored.file, std::move(json)));
}

// --- SentencePiece ---

SentencePieceModel sentence_piece_of(const StoredVocabulary& stored) {
  if (stored.scores.size() != stored.pieces.size())
    refuse(stored, "tokenizer.ggml.scores", number_of(stored.scores.size(), "item"),
           fmt::format("{}, one a token", stored.pieces.size()));
  SentencePieceModel model;
  model.algorithm = stored.model == "t5" ? SentencePieceModel::Algorithm::kUnigram
                                         : SentencePieceModel::Algorithm::kBpe;
  model.unknown = stored.unknown;
  for (std::size_t id = 0; id < stored.pieces.size(); ++id) {
    const Type type = type_of(stored, id);
    if (type == Type::kByte) model.byte_fallback = true;
    if (type == Type::kUnknown && model.unknown < 0) model.unknown = static_cast<std::int64_t>(id);
    model.pieces.push_back({.text = stored.pieces[id], .score = stored.scores[id], .type = type});
  }
  if (model.unknown < 0)
    refuse(stored, "tokenizer.ggml.unknown_token_id", "none", "the token of unknown characters");
  model.charsmap = stored.charsmap;
  model.add_dummy_prefix = stored.add_space_prefix.value_or(true);
  model.remove_extra_spaces = stored.remove_extra_spaces.value_or(false);
  return model;
}

std::unique_ptr<Tokenizer> read_sentence_piece_lists(const StoredVocabulary& stored) {
  const bool begins = stored.add_begin.value_or(stored.model == "llama");
  const bool ends = stored.add_end.value_or(stored.model == "t5");
  return sentence_piece_tokenizer(sentence_piece_of(stored),
                                  {.begin = begins ? piece_at(stored, stored.begin) : "",
                                   .end = ends ? piece_at(stored, stored.end) : ""},
                                  stored.file);
}

// --- byte-level BPE ---

// Mistral Nemo's.
constexpr std::string_view kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// heed writes the first name of each splitting. The tokenizers of GPT-NeoX, whose words OLMo uses,
// and of Command R normalise; llama.cpp does not.
constexpr WordCutter kCutters[] = {
    {"gpt-2", ""},
    {"gpt2", ""},
    {"phi-2", ""},
    {"jina-en", ""},
    {"roberta-bpe", ""},
    {"olmo", "", "NFC"},
    {"mpt", "", "NFC"},
    {"starcoder", "", "", /*digits_alone=*/true},
    {"refact", "", "", /*digits_alone=*/true},
    {"smollm", "", "", /*digits_alone=*/true},
    {"command-r", "", "NFC", /*digits_alone=*/true},
    {"llama-bpe", kGpt4Words, "", false, /*ignore_merges=*/true, /*begins=*/true},
    {"llama3", kGpt4Words, "", false, /*ignore_merges=*/true, /*begins=*/true},
    {"llama-v3", kGpt4Words, "", false, /*ignore_merges=*/true, /*begins=*/true},
    {"tekken", kTekkenWords, "", false, /*ignore_merges=*/true, /*begins=*/true},
    {"dbrx", kGpt4Words},
    {"smaug-bpe", kGpt4Words},
    {"glm4", kGpt4Words},
    {"chatglm-bpe", kGpt4Words},
    {"default", kGpt4Words},
    {"gpt-4o", kGpt4oWords},
    {"llama4", kGpt4oWords},
    {"qwen2", kQwen2Words, "NFC"},
    {"deepseek-r1-qwen", kQwen2Words, "NFC"},
    {"stablelm2", kQwen2Words},
    {"hunyuan", kQwen2Words},
    {"megrez", kQwen2Words}};

const WordCutter& cutter_of(const StoredVocabulary& stored) {
  const std::string& wanted = stored.pre.empty() ? "gpt-2" : stored.pre;
  const auto* found = std::ranges::find(kCutters, wanted, &WordCutter::pre);
  if (found != std::end(kCutters)) return *found;
  refuse(stored, "tokenizer.ggml.pre", fmt::format("'{}'", clipped(wanted)),
         "one of " + joined(kCutters, ", ", [](const WordCutter& cutter) { return cutter.pre; }),
         ErrorCode::kUnsupported);
}

void check_merges(const StoredVocabulary& stored, const Vocabulary& vocabulary) {
  for (std::size_t i = 0; i < stored.merges.size(); ++i) {
    const std::string& merge = stored.merges[i];
    const std::size_t blank = std::min(merge.find(' ', 1), merge.size());
    const std::string left = merge.substr(0, blank),
                      right = merge.substr(std::min(blank + 1, merge.size()));
    for (const std::string& piece : {left, right, left + right})
      if (vocabulary.find(piece) < 0)
        refuse(stored, fmt::format("tokenizer.ggml.merges[{}]", i),
               fmt::format("'{}'", clipped(displayable(merge))),
               "two pieces that are in the vocabulary, as their joint form is");
  }
}

std::unique_ptr<Tokenizer> read_byte_lists(const StoredVocabulary& stored) {
  const WordCutter& cutter = cutter_of(stored);
  const Vocabulary vocabulary = vocabulary_of(stored);
  check_merges(stored, vocabulary);
  ByteBpeContent content = {.pieces = stored.pieces,
                            .merges = stored.merges,
                            .added_tokens = added_tokens_of(stored, vocabulary),
                            .pattern = std::string(cutter.pattern),
                            .normalizer = std::string(cutter.normalizer),
                            .digits_alone = cutter.digits_alone,
                            .add_prefix_space = stored.add_space_prefix.value_or(false),
                            .ignore_merges = cutter.ignore_merges};
  const std::string begin =
      stored.add_begin.value_or(cutter.begins) ? piece_at(stored, stored.begin) : "";
  const std::string end = stored.add_end.value_or(false) ? piece_at(stored, stored.end) : "";
  if (!begin.empty() || !end.empty())
    content.post_processor = template_json(vocabulary, begin, end, begin);
  return tokenizer_of(stored, byte_bpe_json(content));
}

// --- WordPiece ---

// Such files mark pieces that begin a word; BERT's files mark those that do not.
std::vector<std::string> word_pieces_of(const StoredVocabulary& stored) {
  std::vector<std::string> pieces;
  for (std::size_t id = 0; id < stored.pieces.size(); ++id) {
    const std::string& piece = stored.pieces[id];
    const bool is_name =
        type_of(stored, id) != Type::kNormal || (piece.starts_with('[') && piece.ends_with(']'));
    if (is_name)
      pieces.push_back(piece);
    else if (piece.starts_with(kSpaceMark))
      pieces.push_back(piece.substr(std::string_view(kSpaceMark).size()));
    else
      pieces.push_back("##" + piece);
  }
  return pieces;
}

std::unique_ptr<Tokenizer> read_word_piece_lists(const StoredVocabulary& stored) {
  StoredVocabulary plain = stored;
  plain.pieces = word_pieces_of(stored);
  const Vocabulary vocabulary = vocabulary_of(plain);
  const auto named = [&](std::int64_t id, const char* usual) {
    return id >= 0 ? piece_at(plain, id) : vocabulary.find(usual) >= 0 ? usual : "";
  };
  const std::string begin = named(stored.first >= 0 ? stored.first : stored.begin, "[CLS]");
  const std::string end = named(stored.separator, "[SEP]");
  std::vector<AddedToken> added;
  for (const std::string& name : {named(stored.padding, "[PAD]"), named(stored.unknown, "[UNK]"),
                                  begin, end, named(stored.mask, "[MASK]")})
    if (const TokenId id = vocabulary.find(name); id >= 0)
      added.push_back({.content = name, .id = id, .special = true});
  const bool is_lower = std::ranges::none_of(plain.pieces, [](const std::string& piece) {
    return !piece.starts_with('[') &&
           std::ranges::any_of(piece, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  });
  return tokenizer_of(plain,
                      word_piece_json({.pieces = plain.pieces,
                                       .added_tokens = added,
                                       .post_processor = template_json(vocabulary, begin, end),
                                       .unknown = named(stored.unknown, "[UNK]"),
                                       .lowercase = is_lower}));
}

}  // namespace

std::unique_ptr<Tokenizer> read_stored_vocabulary(const StoredVocabulary& stored) {
  if (stored.model.empty() || stored.model == "no_vocab") return nullptr;
  check(stored);
  if (stored.model == "llama" || stored.model == "t5") return read_sentence_piece_lists(stored);
  if (stored.model == "gpt2") return read_byte_lists(stored);
  if (stored.model == "bert") return read_word_piece_lists(stored);
  refuse(stored, "tokenizer.ggml.model", fmt::format("'{}'", clipped(stored.model)),
         "llama, gpt2, bert or t5", ErrorCode::kUnsupported);
}

const WordCutter* same_cutter(const WordCutter& wanted) {
  const auto alike = [&](const WordCutter& cutter) {
    return cutter.pattern == wanted.pattern && cutter.normalizer == wanted.normalizer &&
           cutter.digits_alone == wanted.digits_alone &&
           cutter.ignore_merges == wanted.ignore_merges;
  };
  const auto* found = std::ranges::find_if(kCutters, alike);
  return found == std::end(kCutters) ? nullptr : found;
}

}  // namespace heed
