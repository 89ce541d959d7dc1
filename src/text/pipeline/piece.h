// A part of a text during tokenization: its present bytes, and for each the bytes of the user's
// text that it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/tokenizer.h"

namespace heed {

/// Bytes [begin, end) of the user's text, which has less than 4 GiB.
struct Origin {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct Piece {
  std::string_view text;
  const Origin* origins = nullptr;  // one per byte; null: byte i comes from byte `offset` + i
  std::size_t offset = 0;

  Piece slice(std::size_t begin, std::size_t end) const {
    return {.text = text.substr(begin, end - begin),
            .origins = origins == nullptr ? nullptr : origins + begin,
            .offset = offset + begin};
  }
  /// The origin of the bytes [begin, end), begin < end.
  TokenSpan span(std::size_t begin, std::size_t end) const {
    if (origins == nullptr)
      return {static_cast<std::int64_t>(offset + begin), static_cast<std::int64_t>(offset + end)};
    return {origins[begin].begin, origins[end - 1].end};
  }
};

/// Owns changed texts while one text is encoded. Rejects tokenizers that grow a text without end:
/// all changed texts together have at most 64 times the bytes of the encoded text, plus a megabyte.
class Arena {
 public:
  explicit Arena(std::size_t text_bytes) : text_bytes_(text_bytes) {}
  Piece keep(std::string text, std::vector<Origin> origins);
  /// Throws kUnsupported if a changed text of this many bytes exceeds the limit.
  void require_room(std::size_t bytes) const {
    if (kept_bytes_ + bytes > most_bytes()) refuse();
  }

 private:
  std::size_t most_bytes() const { return 64 * text_bytes_ + (std::size_t{1} << 20); }
  [[noreturn]] void refuse() const;

  std::size_t text_bytes_;
  std::size_t kept_bytes_ = 0;
  std::deque<std::pair<std::string, std::vector<Origin>>> kept_;
};

/// Builds a changed text from left to right.
class Rewrite {
 public:
  Rewrite(const Piece& from, Arena& arena) : from_(from), arena_(arena) {
    text_.reserve(from.text.size());
    origins_.reserve(from.text.size());
  }

  /// Copies the bytes [begin, end) of the old text.
  void keep(std::size_t begin, std::size_t end);
  /// Adds bytes that replace [begin, end), begin < end, of the old text.
  void put(std::string_view bytes, std::size_t begin, std::size_t end);
  /// Adds bytes without an origin, before the first one.
  void put_in_front(std::string_view bytes);

  Piece finish() { return arena_.keep(std::move(text_), std::move(origins_)); }

 private:
  const Piece& from_;
  Arena& arena_;
  std::string text_;
  std::vector<Origin> origins_;
};

}  // namespace heed
