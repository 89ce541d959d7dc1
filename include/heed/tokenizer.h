// Text to token ids and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

using TokenId = std::int32_t;

/// The bytes [begin, end) of the text that a token stands for. A special token added by the
/// post-processor has begin = end, in `tokenize` and in `look`; one written in the text has its
/// bytes there. A token for a part of a character has only that part's bytes. A marker that
/// represents no byte (`▁` before the first word) has the bytes of the next character.
struct TokenSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;     // one per id; for a pair, offsets within the token's own text
  std::vector<std::int32_t> types;  // one per id: the token type for models of sentence pairs
  std::vector<std::int8_t> texts;   // one per id: 0 or 1, or -1 if the post-processor adds it
};

/// Immutable, safe to use from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocabulary_size() const = 0;
  /// Whether a token has this id. Ids may leave gaps.
  virtual bool has(TokenId id) const { return id >= 0 && id < vocabulary_size(); }
  /// `decode` and the queries about one token accept ids below this even if no token has them: such
  /// an id has no text. The tokenizer of a loaded model accepts all ids of the model; 0: only ids
  /// of tokens.
  virtual std::int64_t padded_size() const { return 0; }
  /// `text` must be valid UTF-8 (an error names the byte) of less than 4 GiB. `add_special` adds
  /// the post-processor's special tokens.
  virtual Encoding encode(std::string_view text, bool add_special) const = 0;
  /// Two texts as one sequence: `[CLS] first [SEP] second [SEP]`.
  virtual Encoding encode_pair(std::string_view first, std::string_view second,
                               bool add_special) const = 0;
  /// The bytes of the text, which may end inside a character. `skip_special` omits special tokens.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;
  /// The bytes that one token decodes to within a text (`Ġcat` and `▁cat` give " cat", `##s` gives
  /// "s"); an added token gives its name.
  virtual std::string token_bytes(TokenId id) const = 0;
  /// The vocabulary entry as written in the file: `Ġcat`.
  virtual std::string piece(TokenId id) const = 0;
  virtual bool is_special(TokenId id) const = 0;
  /// The id of a vocabulary entry as written in the file; -1 if there is none.
  virtual TokenId find(std::string_view piece) const = 0;
  /// The token for text that the vocabulary does not cover; -1 if there is none.
  virtual TokenId unknown_token() const { return -1; }
  /// The content of a `tokenizer.json` that produces the same tokens.
  virtual std::string to_json() const = 0;
};

/// Reads a model folder's tokenizer, or the file itself: `tokenizer.json`; else `vocab.json` with
/// `merges.txt`, `vocab.txt` (WordPiece), `tokenizer.model`, `spiece.model` or
/// `sentencepiece.bpe.model` (SentencePiece; the last with fairseq's ids, as XLM-R and CamemBERT),
/// `source.spm` with `vocab.json` (Marian), `*.tiktoken`. Null if a folder has none of them; the
/// error for an unknown component names file, place and component.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder_or_file);

/// The tokenizer for an encoder-decoder's output, if the folder has a separate one:
/// `tokenizer_target.json`, or `target.spm` with `vocab.json`. Null if one tokenizer serves both
/// sides.
std::unique_ptr<Tokenizer> load_target_tokenizer(const std::filesystem::path& folder);

/// A token's bytes in readable form: invalid bytes, controls and bidi overrides as <0xE3>, the rest
/// unchanged (valid UTF-8).
std::string displayable(std::string_view bytes);

/// The byte offset of the first byte that is not valid UTF-8, or -1.
std::int64_t find_invalid_utf8(std::string_view text);

}  // namespace heed
