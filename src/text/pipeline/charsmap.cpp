#include "text/pipeline/base64.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/sentence_piece_parts.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
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
