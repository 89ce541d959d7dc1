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
/// text has its bytes there. A token that is a part of a character has the part's own bytes.
struct TokenSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;  // one an id
};

/// Immutable, safe to use from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocabulary_size() const = 0;
  /// `text` must be valid UTF-8 (an error names the byte). `add_special` adds what the
  /// post-processor says.
  virtual Encoding encode(std::string_view text, bool add_special) const = 0;
  /// The bytes of the text; may end inside a character. `skip_special` leaves special tokens out.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;
  /// The bytes that one token decodes to (`Ġcat` gives " cat"); a special token gives its name.
  virtual std::string token_bytes(TokenId id) const = 0;
  virtual bool is_special(TokenId id) const = 0;
  /// The id of a vocabulary entry as the file writes it, -1 when there is none.
  virtual TokenId find(std::string_view piece) const = 0;
  /// The content of a `tokenizer.json` that gives the same tokens.
  virtual std::string to_json() const = 0;
};

/// Reads `tokenizer.json`, else `vocab.json` with `merges.txt`, from a model folder, or the file
/// itself. Null when the folder has neither; an unknown component is an error that names file and
/// component.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder_or_file);

/// A token's bytes as people read them: invalid bytes, controls and bidi overrides as <0xE3>, the
/// rest as it is (valid UTF-8).
std::string displayable(std::string_view bytes);

/// The byte offset of the first byte that is not valid UTF-8, or -1.
std::int64_t find_invalid_utf8(std::string_view text);

}  // namespace heed
