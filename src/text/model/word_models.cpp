// WordLevel: each piece is a token. WordPiece: repeatedly the longest token at the beginning of the
// rest of a word (Wu et al. 2016; Devlin et al. 2019).
#include <fmt/format.h>

#include <algorithm>

#include "text/model/model.h"
#include "text/trie.h"
#include "text/utf8.h"

namespace heed {
namespace {

class WordLevel final : public TokenModel {
 public:
  WordLevel(const Vocabulary& vocabulary, TokenId unknown)
      : vocabulary_(vocabulary), unknown_(unknown) {}
  TokenId unknown() const override { return unknown_; }
  ModelRun run() const override { return std::bind_front(&WordLevel::encode, this); }

  void encode(const Piece& piece, const TokenSink& out) const {
    TokenId id = vocabulary_.find_in_model(piece.text);
    if (id < 0) id = unknown_;
    if (id < 0) refuse(piece);
    out.add(id, piece, 0, piece.text.size());
  }

 private:
  [[noreturn]] void refuse(const Piece& piece) const {
    const Character first = character_at(piece.text, 0);
    const std::string code =
        first.bytes < piece.text.size()
            ? ""
            : fmt::format(" (U+{:04X})", static_cast<std::uint32_t>(first.code));
    fail({.op = "tokenizer",
          .place = fmt::format("byte {}", piece.span(0, 1).begin),
          .found = fmt::format("'{}'{} is not among the {} pieces of the vocabulary",
                               displayable(piece.text), code, vocabulary_.pieces.size())});
  }
  const Vocabulary& vocabulary_;
  TokenId unknown_;
};

struct WordPieceOptions {
  TokenId unknown = 0;
  std::string prefix = "##";
  std::size_t most_characters = 100;
};

class WordPiece final : public TokenModel {
 public:
  WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options)
      : unknown_(options.unknown), most_characters_(options.most_characters) {
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id)
      if (!vocabulary.pieces[id].empty() && vocabulary.is_of_model(static_cast<TokenId>(id)))
        trie_.add(vocabulary.pieces[id], static_cast<TokenId>(id));
    inside_ = trie_.walk(Trie::kRoot, options.prefix);
  }
  TokenId unknown() const override { return unknown_; }
  ModelRun run() const override { return std::bind_front(&WordPiece::encode, this); }

  void encode(const Piece& piece, const TokenSink& out) const {
    const std::size_t tokens = out.ids.size();
    const bool too_long = count_characters(piece.text) > most_characters_;
    std::size_t begin = 0;
    while (!too_long && begin < piece.text.size()) {
      const auto [id, end] = trie_.longest(piece.text, begin, begin == 0 ? Trie::kRoot : inside_);
      if (id < 0) break;
      out.add(id, piece, begin, end);
      begin = end;
    }
    if (begin == piece.text.size()) return;
    out.ids.resize(tokens);
    out.spans.resize(tokens);
    out.add(unknown_, piece, 0, piece.text.size());
  }

 private:
  static std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
  }

  Trie trie_;
  TokenId unknown_;
  Trie::Node inside_ = Trie::kNowhere;
  std::size_t most_characters_;
};

}  // namespace

std::unique_ptr<TokenModel> read_word_level(const TokenizerFile& file,
                                            const Vocabulary& vocabulary) {
  const std::string* unknown = file.model()["unk_token"].as_text();
  return std::make_unique<WordLevel>(vocabulary,
                                     unknown == nullptr ? -1 : vocabulary.find(*unknown));
}

std::unique_ptr<TokenModel> read_word_piece(const TokenizerFile& file,
                                            const Vocabulary& vocabulary) {
  WordPieceOptions options;
  options.unknown = unknown_id(file, vocabulary);
  if (options.unknown < 0)
    file.refuse(file.model()["unk_token"], "model.unk_token", "a piece of the vocabulary");
  const Json& prefix = file.model()["continuing_subword_prefix"];
  if (!prefix.is_null()) options.prefix = file.text_of(prefix, "model.continuing_subword_prefix");
  const Json& most = file.model()["max_input_chars_per_word"];
  const std::int64_t characters = most.is_null() ? 100 : most.as_integer().value_or(-1);
  if (characters < 0) file.refuse(most, "model.max_input_chars_per_word", "a whole number");
  options.most_characters = static_cast<std::size_t>(characters);
  return std::make_unique<WordPiece>(vocabulary, options);
}

namespace {

struct Reader {
  std::string_view type;
  std::unique_ptr<TokenModel> (*read)(const TokenizerFile&, const Vocabulary&);
};

constexpr Reader kReaders[] = {
    {"BPE", read_bpe},
    {"Unigram", read_unigram},
    {"WordLevel", read_word_level},
    {"WordPiece", read_word_piece},
};

}  // namespace

std::string model_type(const Json& model) {
  if (model.has("type")) return type_name(model);
  if (model.has("merges")) return "BPE";
  if (model.has("max_input_chars_per_word")) return "WordPiece";
  return model["vocab"].is_array() ? "Unigram" : "WordLevel";
}

std::unique_ptr<TokenModel> read_model(const TokenizerFile& file, const Vocabulary& vocabulary) {
  const std::string type = model_type(file.model());
  for (const Reader& reader : kReaders)
    if (reader.type == type) return reader.read(file, vocabulary);
  file.refuse_type(file.model(), "model", "one of BPE, Unigram, WordLevel, WordPiece");
}

TokenId unknown_id(const TokenizerFile& file, const Vocabulary& vocabulary) {
  const Json& unknown = file.model()["unk_token"];
  if (unknown.is_null()) return -1;
  const TokenId id = vocabulary.find(file.text_of(unknown, "model.unk_token"));
  if (id < 0) file.refuse(unknown, "model.unk_token", "a piece of the vocabulary");
  return id;
}

}  // namespace heed
