// Byte-pair encoding (Sennrich, Haddow, Birch 2016): over bytes (Radford et al. 2019), or over
// characters, where characters missing in the vocabulary may become bytes (SentencePiece).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "text/model/merges.h"
#include "text/model/model.h"
#include "text/trie.h"

namespace heed {

struct BpeOptions {
  bool of_bytes = false;            // pieces are written in the byte alphabet
  bool ignore_merges = false;       // a word that is a piece becomes that token without merges
  bool fuse_unknown = false;        // adjacent unknown characters become one token
  TokenId unknown = -1;             // -1: text without a piece is dropped
  std::vector<TokenId> bytes = {};  // for all 256, -1: none; used for text without a piece
  std::string inside_prefix = {};   // precedes pieces that do not begin a word
  std::string end_suffix = {};      // follows pieces that end a word
  Trie whole = {};                  // pieces that are tokens wherever they occur
};

class Bpe final : public TokenModel {
 public:
  Bpe(const Vocabulary& vocabulary, BpeOptions options);

  void add_merge(std::string_view left, std::string_view right, TokenId left_id, TokenId right_id,
                 std::int32_t rank, TokenId result);
  const BpeOptions& options() const { return options_; }
  ModelRun run() const override;
  TokenId unknown() const override;

  /// Whether a text can be split into words that no merge joins: true if a word may end before each
  /// `▁` that follows another character.
  bool parts_at_marks() const { return parts_at_marks_; }
  void encode_word(std::string_view word, std::vector<Symbol>& symbols) const;

 private:
  void first_symbols(std::string_view word, std::vector<Symbol>& symbols) const;
  TokenId first_id(std::string_view word, std::size_t begin, std::size_t end) const;
  TokenId whole_word(std::string_view word) const;

  const Vocabulary& vocabulary_;
  BpeOptions options_;
  std::array<TokenId, 256> byte_ids_ = {};  // of_bytes, without prefix and suffix
  Merges merges_;
  bool parts_at_marks_ = false;
};

}  // namespace heed
