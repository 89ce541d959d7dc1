// A SentencePiece model in the form of a tokenizer.json, as transformers converts it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/files/sentence_piece_model.h"
#include "text/tokenizer_file.h"

namespace heed {

/// A merge of two pieces, by its place in the order in which they are tried: equal where the joint
/// pieces have equal scores.
struct SentencePieceMerge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;
  std::int32_t rank = 0;
};

/// The merges of a BPE model, best first: every way to part a piece into two.
std::vector<SentencePieceMerge> merges_of(const SentencePieceModel& model);

struct SentencePieceFrame {
  std::string begin;  // a piece's name, or none
  std::string end;
  std::string second = {};  // one more before a second text, which then is of the first's type
};

/// A tokenizer of the model: ids are the places of its pieces, controls and `<unk>` are added
/// tokens, `name` is what errors call the file.
std::unique_ptr<Tokenizer> sentence_piece_tokenizer(SentencePieceModel model,
                                                    const SentencePieceFrame& frame,
                                                    const std::string& name);

/// The pre-tokeniser that writes blanks as SentencePiece's mark; `prefix` says where the text gets
/// one more: "first" (at its begin), "always" (after each added token too) or "never".
Json metaspace_json(std::string_view prefix, bool split);
/// Its decoder; `has_prefix`: the text's first blank is removed.
Json metaspace_decoder_json(bool has_prefix);

std::string sentence_piece_json(const SentencePieceModel& model, const Vocabulary& vocabulary,
                                const std::vector<AddedToken>& added,
                                const SentencePieceFrame& frame);

}  // namespace heed
