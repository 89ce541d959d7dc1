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

/// The bytes [begin, end) of the text that a token stands for. A special token that the
/// post-processor adds has begin = end, in `tokenize` and in `look`; one that is written out in the
/// text has its bytes there. A token that is a part of a character has the part's own bytes. A mark
/// that stands for no byte (`▁` before the first word) has those of the character behind it.
struct TokenSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;     // one an id; of two texts, in the token's own text
  std::vector<std::int32_t> types;  // one an id: the type that models of sentence pairs see
  std::vector<std::int8_t> texts;   // one an id: 0 or 1, or -1 for what the post-processor adds
};

/// Immutable, safe to use from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocabulary_size() const = 0;
  /// Whether a token has this id. Ids may leave gaps.
  virtual bool has(TokenId id) const { return id >= 0 && id < vocabulary_size(); }
  /// Below this, `decode` and the questions about one token take an id that no token has: it has no
  /// text. The tokenizer of a loaded model takes all ids of the model, 0: those of tokens alone.
  virtual std::int64_t padded_size() const { return 0; }
  /// `text` must be valid UTF-8 (an error names the byte) of less than 4 GiB. `add_special` adds
  /// what the post-processor says.
  virtual Encoding encode(std::string_view text, bool add_special) const = 0;
  /// Two texts as one sequence: `[CLS] first [SEP] second [SEP]`.
  virtual Encoding encode_pair(std::string_view first, std::string_view second,
                               bool add_special) const = 0;
  /// The bytes of the text; may end inside a character. `skip_special` leaves special tokens out.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;
  /// The bytes that one token decodes to inside of a text (`Ġcat` and `▁cat` give " cat", `##s`
  /// gives "s"); an added token gives its name.
  virtual std::string token_bytes(TokenId id) const = 0;
  /// The vocabulary entry as the file writes it: `Ġcat`.
  virtual std::string piece(TokenId id) const = 0;
  virtual bool is_special(TokenId id) const = 0;
  /// The id of a vocabulary entry as the file writes it, -1 when there is none.
  virtual TokenId find(std::string_view piece) const = 0;
  /// The token that a text has where the vocabulary has no piece of it; -1 where there is no such.
  virtual TokenId unknown_token() const { return -1; }
  /// The content of a `tokenizer.json` that gives the same tokens.
  virtual std::string to_json() const = 0;
};

/// Reads a model folder's tokenizer, or the file itself: `tokenizer.json`; else `vocab.json` with
/// `merges.txt`, `vocab.txt` (WordPiece), `tokenizer.model`, `spiece.model` or
/// `sentencepiece.bpe.model` (SentencePiece; the last with fairseq's ids, as XLM-R and CamemBERT),
/// `source.spm` with `vocab.json` (Marian), `*.tiktoken`. Null when a folder has none of them; an
/// unknown component is an error that names file, place and component.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder_or_file);

/// The tokenizer of what an encoder-decoder writes, where the folder has one of its own:
/// `tokenizer_target.json`, or `target.spm` with `vocab.json`. Null where the other one serves.
std::unique_ptr<Tokenizer> load_target_tokenizer(const std::filesystem::path& folder);

/// A token's bytes as people read them: invalid bytes, controls and bidi overrides as <0xE3>, the
/// rest as it is (valid UTF-8).
std::string displayable(std::string_view bytes);

/// The byte offset of the first byte that is not valid UTF-8, or -1.
std::int64_t find_invalid_utf8(std::string_view text);

}  // namespace heed
