// What is done to a text before it is cut: cleaning, normal forms, lower case, marks for spaces.
#pragma once

#include <memory>
#include <vector>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// `piece` is valid UTF-8, and so is the result.
  virtual Piece apply(const Piece& piece, Arena& arena) const = 0;
};

/// The component `normalizer` of a file, or a part of it; null where there is none.
std::unique_ptr<Normalizer> read_normalizer(const TokenizerFile& file, const Json& component);

std::unique_ptr<Normalizer> read_bert_normalizer(const TokenizerFile& file, const Json& component);
std::unique_ptr<Normalizer> read_charsmap_normalizer(const TokenizerFile& file,
                                                     const Json& component);

/// Every character for itself: it stays, goes, or becomes others.
class EachCharacter : public Normalizer {
 public:
  Piece apply(const Piece& piece, Arena& arena) const final;

 protected:
  /// Appends to `out` what becomes of `code`.
  virtual void change(char32_t code, std::vector<char32_t>& out) const = 0;
};

class Lowercase final : public EachCharacter {
  void change(char32_t code, std::vector<char32_t>& out) const override;
};

}  // namespace heed
