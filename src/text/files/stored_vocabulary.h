// The tokenizer stored in llama.cpp's files as lists: pieces, scores or merges, and the roles of
// special tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/tokenizer.h"

namespace heed {

/// `tokenizer.ggml.*` of a GGUF file.
struct StoredVocabulary {
  std::string file = {};   // for messages
  std::string model = {};  // "llama" (SentencePiece BPE), "gpt2" (byte-level BPE), "bert"
                           // (WordPiece), "t5" (unigram), "no_vocab" (ids alone)
  std::string pre = {};    // how words are split before merging: "llama-bpe"
  std::vector<std::string> pieces = {};
  std::vector<float> scores = {};
  std::vector<std::int64_t> types = {};  // like SentencePieceModel::Type; empty: all normal
  std::vector<std::string> merges = {};
  std::string charsmap = {};
  std::int64_t begin = -1, end = -1, unknown = -1, separator = -1, padding = -1, mask = -1,
               first = -1;  // ids of pieces; -1: none
  std::optional<bool> add_begin = {}, add_end = {}, add_space_prefix = {}, remove_extra_spaces = {};
};

/// Null if the file has no tokenizer. kUnsupported for an unknown kind of tokenizer or word
/// splitting; kCorrupt if the lists do not fit together.
std::unique_ptr<Tokenizer> read_stored_vocabulary(const StoredVocabulary& stored);

/// A byte-level BPE's splitting of words, with llama.cpp's name.
struct WordCutter {
  std::string_view pre = {};
  std::string_view pattern = {};  // empty: GPT-2's
  std::string_view normalizer = {};
  bool digits_alone = false;   // each digit is a word
  bool ignore_merges = false;  // a word that is a token is not split further
  bool begins = false;         // default, if the file does not say whether to add a first token
};
/// The first that splits words like `wanted`, whatever its name; null if there is none.
const WordCutter* same_cutter(const WordCutter& wanted);

}  // namespace heed
