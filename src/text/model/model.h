// Turns the pieces of a text into tokens: BPE, Unigram, WordPiece, WordLevel.
#pragma once

#include <functional>
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

/// The encoding of one text, with state kept from piece to piece: appends the tokens of a nonempty
/// piece. The pieces outlive it.
using ModelRun = std::function<void(const Piece& piece, const TokenSink& out)>;

/// Immutable; each text has a separate run.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  virtual ModelRun run() const = 0;
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

}  // namespace heed
