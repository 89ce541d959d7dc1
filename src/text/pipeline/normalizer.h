// Changes a text before it is split: cleaning, normal forms, lower case, marks for spaces.
#pragma once

#include <memory>
#include <vector>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// `piece` must be valid UTF-8; so is the result.
  virtual Piece apply(const Piece& piece, Arena& arena) const = 0;
};

/// Reads the component `normalizer` of a file, or a part of it; null if there is none.
std::unique_ptr<Normalizer> read_normalizer(const TokenizerFile& file, const Json& component);

std::unique_ptr<Normalizer> read_bert_normalizer(const TokenizerFile& file, const Json& component);
std::unique_ptr<Normalizer> read_charsmap_normalizer(const TokenizerFile& file,
                                                     const Json& component);

/// Changes each character independently: keeps, drops or replaces it.
class EachCharacter : public Normalizer {
 public:
  Piece apply(const Piece& piece, Arena& arena) const final;

 protected:
  /// Appends the replacement of `code` to `out`.
  virtual void change(char32_t code, std::vector<char32_t>& out) const = 0;
};

class Lowercase final : public EachCharacter {
  void change(char32_t code, std::vector<char32_t>& out) const override;
};

}  // namespace heed
