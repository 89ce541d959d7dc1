// The tokenizer that llama.cpp's files hold as lists: pieces, scores or merges, and what the
// special ones are for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed {

/// `tokenizer.ggml.*` of a GGUF file.
struct StoredVocabulary {
  std::string file = {};   // for messages
  std::string model = {};  // "llama" (SentencePiece BPE), "gpt2" (byte-level BPE), "bert"
                           // (WordPiece), "t5" (unigram)
  std::string pre = {};    // how words are cut before the merges: "llama-bpe"
  std::vector<std::string> pieces = {};
  std::vector<float> scores = {};
  std::vector<std::int64_t> types = {};  // as SentencePieceModel::Type; empty: all are normal
  std::vector<std::string> merges = {};
  std::string charsmap = {};
  std::int64_t begin = -1, end = -1, unknown = -1, separator = -1, padding = -1, mask = -1,
               first = -1;  // ids; -1: none
  std::optional<bool> add_begin = {}, add_end = {}, add_space_prefix = {}, remove_extra_spaces = {};
};

/// Null where the file has no tokenizer. kUnsupported for a kind of tokenizer or of words that heed
/// does not know; kCorrupt where lists do not fit together.
std::unique_ptr<Tokenizer> read_stored_vocabulary(const StoredVocabulary& stored);

/// How a byte-level BPE cuts words, by llama.cpp's name for it.
struct WordCutter {
  std::string_view pre = {};
  std::string_view pattern = {};  // empty: GPT-2's
  std::string_view normalizer = {};
  bool digits_alone = false;   // each digit is a word
  bool ignore_merges = false;  // a word that is a token is one
  bool begins = false;         // where the file does not say whether a first token is put in
};
/// The first that cuts words as `wanted` does, whatever its name; null if none does.
const WordCutter* same_cutter(const WordCutter& wanted);

}  // namespace heed
