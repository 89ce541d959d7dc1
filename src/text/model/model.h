// Turns the pieces of a text into tokens: BPE, Unigram, WordPiece, WordLevel.
#pragma once

#include <memory>
#include <string>

#include "heed/tokenizer.h"
#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

/// Receives tokens: their ids, and their bytes of the user's text.
struct TokenSink {
  std::vector<TokenId>& ids;
  std::vector<TokenSpan>& spans;

  void add(TokenId id, const Piece& piece, std::size_t begin, std::size_t end) const {
    ids.push_back(id);
    spans.push_back(piece.span(begin, end));
  }
};

/// The encoding of one text, with state kept from piece to piece. The pieces outlive it.
class ModelRun {
 public:
  virtual ~ModelRun() = default;
  /// Appends the tokens of a nonempty piece.
  virtual void encode(const Piece& piece, const TokenSink& out) = 0;
};

/// Immutable; each text has a separate run.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  virtual std::unique_ptr<ModelRun> run() const = 0;
  /// The token for text without a piece; -1 if that is dropped, rejected or split into bytes.
  virtual TokenId unknown() const = 0;
};

/// Reads the component `model` of a file with all its pieces; the file must outlive it.
/// The type of a file's model. Older files, as GPT-2's, omit it where the members determine it.
std::string model_type(const Json& model);
std::unique_ptr<TokenModel> read_model(const TokenizerFile& file, const Vocabulary& vocabulary);

std::unique_ptr<TokenModel> read_bpe(const TokenizerFile& file, const Vocabulary& vocabulary);
std::unique_ptr<TokenModel> read_unigram(const TokenizerFile& file, const Vocabulary& vocabulary);
std::unique_ptr<TokenModel> read_word_piece(const TokenizerFile& file,
                                            const Vocabulary& vocabulary);
std::unique_ptr<TokenModel> read_word_level(const TokenizerFile& file,
                                            const Vocabulary& vocabulary);

/// The id of `model.unk_token`; -1 if it is null. Throws if the vocabulary has no such piece.
TokenId unknown_id(const TokenizerFile& file, const Vocabulary& vocabulary);

/// A run without state: only calls `encode(piece, out)`.
template <typename Model>
class PlainRun final : public ModelRun {
 public:
  explicit PlainRun(const Model& model) : model_(model) {}
  void encode(const Piece& piece, const TokenSink& out) override { model_.encode(piece, out); }

 private:
  const Model& model_;
};

}  // namespace heed
