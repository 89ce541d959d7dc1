// What tokenizers with a vocabulary share: added tokens around the text, the post-processor's
// frame, decoding.
#pragma once

#include <string>
#include <vector>

#include "heed/text/tokenizer.h"
#include "text/tokenizer_file.h"

namespace heed {

class VocabularyTokenizer : public Tokenizer {
 public:
  std::int64_t vocabulary_size() const override {
    return static_cast<std::int64_t>(vocabulary_.pieces.size());
  }
  Encoding encode(std::string_view text, bool add_special) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string token_bytes(TokenId id) const override;
  bool is_special(TokenId id) const override;
  TokenId find(std::string_view piece) const override { return vocabulary_.find(piece); }
  std::string to_json() const override { return json_; }

 protected:
  /// `bytes_of` gives the bytes of a vocabulary entry; added tokens stand for themselves.
  VocabularyTokenizer(const TokenizerFile& file, std::string (*bytes_of)(std::string_view piece));

  /// Appends the tokens of `text`, valid UTF-8 without added tokens, which begins at byte `offset`
  /// of what the user gave.
  virtual void encode_segment(std::string_view text, std::int64_t offset, Encoding& out) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  std::size_t checked(TokenId id) const;

  Vocabulary vocabulary_;
  AddedTokens added_;
  Frame frame_;
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> special_;       // by id
  std::string json_;
};

}  // namespace heed
