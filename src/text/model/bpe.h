// Byte-pair encoding (Sennrich, Haddow, Birch 2016): over bytes (Radford et al. 2019), or over
// characters, where those that the vocabulary lacks may become bytes (SentencePiece).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "text/model/merges.h"
#include "text/model/model.h"
#include "text/trie.h"

namespace heed {

struct BpeOptions {
  bool of_bytes = false;            // the pieces are written in the alphabet of bytes
  bool ignore_merges = false;       // a word that is a piece is that token, whatever merges say
  bool fuse_unknown = false;        // neighbouring unknown characters are one token
  TokenId unknown = -1;             // -1: what has no piece is dropped
  std::vector<TokenId> bytes = {};  // of all 256, -1: none; what has no piece becomes those
  std::string inside_prefix = {};   // before pieces that do not begin a word
  std::string end_suffix = {};      // behind pieces that end a word
  Trie whole = {};                  // pieces that are tokens wherever they stand
};

class Bpe final : public TokenModel {
 public:
  Bpe(const Vocabulary& vocabulary, BpeOptions options);

  void add_merge(std::string_view left, std::string_view right, TokenId left_id, TokenId right_id,
                 std::int32_t rank, TokenId result);
  const BpeOptions& options() const { return options_; }
  std::unique_ptr<ModelRun> run() const override;
  TokenId unknown() const override;

  /// Words that merges cannot join may be encoded each for itself: true where a word may end before
  /// each `▁` that follows another character.
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
