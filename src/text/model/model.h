// What turns the pieces of a text into tokens: BPE, Unigram, WordPiece, WordLevel.
#pragma once

#include <memory>

#include "heed/text/tokenizer.h"
#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

/// Where tokens go: their ids, and the bytes of the user's text that they stand for.
struct TokenSink {
  std::vector<TokenId>& ids;
  std::vector<TokenSpan>& spans;

  void add(TokenId id, const Piece& piece, std::size_t begin, std::size_t end) const {
    ids.push_back(id);
    spans.push_back(piece.span(begin, end));
  }
};

/// One text being encoded, with what may be kept from piece to piece. The pieces outlive it.
class ModelRun {
 public:
  virtual ~ModelRun() = default;
  /// Appends the tokens of a piece that is not empty.
  virtual void encode(const Piece& piece, const TokenSink& out) = 0;
};

/// Immutable; each text has a run of its own.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  virtual std::unique_ptr<ModelRun> run() const = 0;
  /// The token of what has no piece; -1 where that is dropped, refused or cut into bytes.
  virtual TokenId unknown() const = 0;
};

/// The component `model` of a file, with all pieces of the file, which outlive it.
std::unique_ptr<TokenModel> read_model(const TokenizerFile& file, const Vocabulary& vocabulary);

std::unique_ptr<TokenModel> read_bpe(const TokenizerFile& file, const Vocabulary& vocabulary);
std::unique_ptr<TokenModel> read_unigram(const TokenizerFile& file, const Vocabulary& vocabulary);
std::unique_ptr<TokenModel> read_word_piece(const TokenizerFile& file,
                                            const Vocabulary& vocabulary);
std::unique_ptr<TokenModel> read_word_level(const TokenizerFile& file,
                                            const Vocabulary& vocabulary);

/// The id that `model.unk_token` names, -1 where it is null. Fails where the vocabulary has no such
/// piece.
TokenId unknown_id(const TokenizerFile& file, const Vocabulary& vocabulary);

/// A run that keeps nothing: `encode(piece, out)` is all that there is to it.
template <typename Model>
class PlainRun final : public ModelRun {
 public:
  explicit PlainRun(const Model& model) : model_(model) {}
  void encode(const Piece& piece, const TokenSink& out) override { model_.encode(piece, out); }

 private:
  const Model& model_;
};

}  // namespace heed
