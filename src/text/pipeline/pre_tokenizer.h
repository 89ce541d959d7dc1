// Where a text is cut before the model sees it: no token reaches across.
#pragma once

#include <memory>
#include <vector>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"

namespace heed {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Appends the parts of `piece`, none of them empty.
  virtual void cut(const Piece& piece, Arena& arena, std::vector<Piece>& out) const = 0;
};

/// The component `pre_tokenizer` of a file, or a part of it; null where there is none.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const TokenizerFile& file, const Json& component);

std::unique_ptr<PreTokenizer> read_split(const TokenizerFile& file, const Json& component);
std::unique_ptr<PreTokenizer> read_digits(const TokenizerFile& file, const Json& component);
std::unique_ptr<PreTokenizer> read_punctuation(const TokenizerFile& file, const Json& component);
std::unique_ptr<PreTokenizer> read_delimiter(const TokenizerFile& file, const Json& component);
std::unique_ptr<PreTokenizer> read_whitespace(const TokenizerFile& file, const Json& component);
std::unique_ptr<PreTokenizer> read_whitespace_split(const TokenizerFile& file,
                                                    const Json& component);
std::unique_ptr<PreTokenizer> read_bert_pre_tokenizer(const TokenizerFile& file,
                                                      const Json& component);

}  // namespace heed
