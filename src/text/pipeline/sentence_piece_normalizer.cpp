#include <algorithm>

#include "text/pipeline/base64.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/sentence_piece_parts.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

/// The output text, and where each of its bytes begins in the old text.
struct Written {
  std::string text;
  std::vector<std::size_t> begins;

  void add(std::string_view bytes, std::size_t begin) {
    text += bytes;
    begins.insert(begins.end(), bytes.size(), begin);
  }
};

class SentencePieceNormalizer {
 public:
  SentencePieceNormalizer(std::optional<Charsmap> map, Trie kept, const SentencePieceSpaces& spaces)
      : map_(std::move(map)), kept_(std::move(kept)), spaces_(spaces) {}

  Piece operator()(const Piece& piece, Arena& arena) const {
    Written written;
    const std::size_t end = write(piece.text, written, arena);
    // A byte's origin extends to the beginning of the next character.
    std::vector<Origin> origins(written.text.size());
    std::size_t next = end;
    for (std::size_t i = origins.size(); i-- > 0;) {
      if (i + 1 < origins.size() && written.begins[i + 1] > written.begins[i])
        next = written.begins[i + 1];
      origins[i] = origin(piece, written.begins[i], next);
    }
    return arena.keep(std::move(written.text), std::move(origins));
  }

 private:
  struct Part {
    std::string_view text;
    std::size_t bytes = 0;  // in the old text
  };

  static Origin origin(const Piece& piece, std::size_t begin, std::size_t end) {
    const TokenSpan span =
        begin < end ? piece.span(begin, end)
                    : TokenSpan{piece.span(begin - 1, begin).end, piece.span(begin - 1, begin).end};
    return {static_cast<std::uint32_t>(span.begin), static_cast<std::uint32_t>(span.end)};
  }

  // The replacement at the beginning of `text`: the longest rule, or one character.
  Part first_part(std::string_view text) const {
    const std::size_t kept = kept_.longest(text, 0).end;
    if (kept > 0) return {text.substr(0, kept), kept};
    const auto match = map_ ? map_->longest(text) : std::nullopt;
    if (match && find_invalid_utf8(match->replacement) < 0)
      return {match->replacement, match->bytes};
    const std::size_t bytes = character_at(text, 0).bytes;
    return {text.substr(0, bytes), bytes};
  }

  void add_space(Written& out, std::size_t begin) const {
    out.add(spaces_.escape ? kSpaceMark : " ", begin);
  }

  // Returns the end in `text` of the last byte that counts.
  std::size_t write(std::string_view text, Written& out, const Arena& arena) const {
    std::size_t at = 0;
    while (spaces_.remove_extra && at < text.size()) {
      const Part part = first_part(text.substr(at));
      if (part.text != " ") break;
      at += part.bytes;
    }
    if (at == text.size()) return at;
    if (spaces_.add_prefix && !spaces_.prefix_behind) add_space(out, at);
    bool after_space = spaces_.remove_extra;
    while (at < text.size()) {
      Part part = first_part(text.substr(at));
      arena.require_room(out.text.size() + part.text.size());
      while (after_space && part.text.starts_with(' ')) part.text.remove_prefix(1);
      for (const char& byte : part.text) byte == ' ' ? add_space(out, at) : out.add({&byte, 1}, at);
      if (!part.text.empty()) after_space = part.text.ends_with(' ');
      if (!spaces_.remove_extra) after_space = false;
      at += part.bytes;
    }
    if (spaces_.remove_extra) at = drop_trailing_spaces(out, at);
    if (spaces_.add_prefix && spaces_.prefix_behind) add_space(out, at);
    return at;
  }

  std::size_t drop_trailing_spaces(Written& out, std::size_t end) const {
    const std::string_view space = spaces_.escape ? kSpaceMark : " ";
    while (out.text.ends_with(space)) {
      const std::size_t size = out.text.size() - space.size();
      end = out.begins[size];
      out.text.erase(size);
      out.begins.resize(size);
    }
    return end;
  }

  std::optional<Charsmap> map_;
  Trie kept_;
  SentencePieceSpaces spaces_;
};

// Writes the marks of a piece as spaces. Returns whether the text has still to begin.
bool decode(std::string& piece, bool at_begin, const SentencePieceSpaces& spaces) {
  const bool drops = at_begin && piece.starts_with(kSpaceMark);
  if (drops) piece.erase(0, kSpaceMark.size());
  piece = replaced(piece, kSpaceMark, " ");
  return at_begin && piece.empty() && (!drops || spaces.remove_extra);
}

}  // namespace

Normalizer sentence_piece_normalizer(std::optional<Charsmap> map, Trie kept,
                                     const SentencePieceSpaces& spaces) {
  return SentencePieceNormalizer(std::move(map), std::move(kept), spaces);
}

Decoder sentence_piece_decoder(SentencePieceSurface surface, const SentencePieceSpaces& spaces) {
  return {[surface = std::move(surface), spaces](std::vector<std::string>& pieces) {
    bool at_begin = spaces.add_prefix || spaces.remove_extra;  // where a mark has no text
    for (std::string& piece : pieces) {
      if (const int byte = byte_of_piece(piece); byte >= 0) {
        piece.assign(1, static_cast<char>(byte));
      } else if (piece == surface.unknown) {
        piece = surface.unknown_surface;
      } else if (std::ranges::find(surface.control, piece) != surface.control.end()) {
        piece.clear();
      } else {
        at_begin = decode(piece, at_begin, spaces);
        continue;
      }
      at_begin = at_begin && piece.empty();
    }
  }};
}

namespace {

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i)
    word |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return word;
}

// A unit of the double array: bit 31 marks a value; otherwise bits 0 to 7 are the label, bit 8 says
// that a value is attached, and bits 9 to 30 are the offset, which bit 9 shifts by 8.
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t value(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t label(std::uint32_t unit) { return unit & 0x800000FF; }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

std::optional<Charsmap> Charsmap::parse(std::string_view blob) {
  if (blob.size() < 4) return {};
  const std::size_t bytes = little_endian(blob);
  if (bytes == 0 || bytes % 4 != 0 || bytes > blob.size() - 4) return {};
  Charsmap map;
  map.trie_.reserve(bytes / 4);
  for (std::size_t i = 0; i < bytes; i += 4)
    map.trie_.push_back(little_endian(blob.substr(4 + i, 4)));
  map.replacements_ = blob.substr(4 + bytes);
  return map;
}

std::string_view Charsmap::replacement(std::size_t at) const {
  const std::string_view all = replacements_;
  if (at >= all.size()) return {};
  return all.substr(at, all.find('\0', at) - at);
}

std::optional<Charsmap::Match> Charsmap::match(std::string_view text, bool first) const {
  std::optional<Match> found;
  std::size_t at = offset(trie_[0]);
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (at >= trie_.size() || label(trie_[at]) != byte) break;
    const bool ends = has_leaf(trie_[at]);
    at ^= offset(trie_[at]);
    if (!ends || at >= trie_.size()) continue;
    found = {.replacement = replacement(value(trie_[at])), .bytes = i + 1};
    if (first) break;
  }
  return found;
}

namespace {

constexpr std::size_t kLongestGrapheme = 6;  // bytes; longer ones are processed by character

// The shortest rule that matches a beginning replaces the whole.
bool add_whole(const Charsmap& map, std::string_view text, std::size_t begin, std::size_t end,
               Rewrite& rewrite) {
  const auto match = map.shortest(text.substr(begin, end - begin));
  if (match && find_invalid_utf8(match->replacement) < 0)
    rewrite.put(match->replacement, begin, end);
  return match.has_value();
}

void add_grapheme(const Charsmap& map, std::string_view text, std::size_t begin, std::size_t end,
                  Rewrite& rewrite) {
  if (end - begin < kLongestGrapheme && add_whole(map, text, begin, end, rewrite)) return;
  for (std::size_t next = begin; begin < end; begin = next) {
    next = begin + character_at(text, begin).bytes;
    if (!add_whole(map, text, begin, next, rewrite)) rewrite.keep(begin, next);
  }
}

std::optional<Charsmap> decode(const Json& encoded) {
  const std::string* text = encoded.as_text();
  const auto blob = text == nullptr ? std::nullopt : decode_base64(*text);
  return blob ? Charsmap::parse(*blob) : std::nullopt;
}

}  // namespace

Normalizer read_charsmap_normalizer(const TokenizerFile& file, const Json& component) {
  auto map = decode(component["precompiled_charsmap"]);
  if (!map)
    file.refuse(component["precompiled_charsmap"], "normalizer.precompiled_charsmap",
                "SentencePiece's rules in base64");
  return [map = std::move(*map)](const Piece& piece, Arena& arena) {
    Rewrite rewrite(piece, arena);
    for (std::size_t begin = 0; begin < piece.text.size();) {
      const std::size_t end = grapheme_end(piece.text, begin);
      add_grapheme(map, piece.text, begin, end, rewrite);
      begin = end;
    }
    return rewrite.finish();
  };
}

}  // namespace heed
