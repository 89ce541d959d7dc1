// `Precompiled` of a tokenizer.json: SentencePiece's rules as the `tokenizers` library applies
// them, which is not quite as SentencePiece does.
#include "text/pipeline/base64.h"
#include "text/pipeline/charsmap.h"
#include "text/pipeline/normalizer.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

constexpr std::size_t kLongestGrapheme = 6;  // bytes; longer ones go character by character

class CharsmapNormalizer final : public Normalizer {
 public:
  explicit CharsmapNormalizer(Charsmap map) : map_(std::move(map)) {}

  Piece apply(const Piece& piece, Arena& arena) const override {
    Rewrite rewrite(piece, arena);
    for (std::size_t begin = 0; begin < piece.text.size();) {
      const std::size_t end = grapheme_end(piece.text, begin);
      add_grapheme(piece.text, begin, end, rewrite);
      begin = end;
    }
    return rewrite.finish();
  }

 private:
  // The shortest rule that matches a beginning replaces the whole.
  bool add_whole(std::string_view text, std::size_t begin, std::size_t end,
                 Rewrite& rewrite) const {
    const auto match = map_.shortest(text.substr(begin, end - begin));
    if (match && find_invalid_utf8(match->replacement) < 0)
      rewrite.put(match->replacement, begin, end);
    return match.has_value();
  }
  void add_grapheme(std::string_view text, std::size_t begin, std::size_t end,
                    Rewrite& rewrite) const {
    if (end - begin < kLongestGrapheme && add_whole(text, begin, end, rewrite)) return;
    for (std::size_t next = begin; begin < end; begin = next) {
      next = begin + character_at(text, begin).bytes;
      if (!add_whole(text, begin, next, rewrite)) rewrite.keep(begin, next);
    }
  }

  Charsmap map_;
};

std::optional<Charsmap> decode(const Json& encoded) {
  const std::string* text = encoded.as_text();
  const auto blob = text == nullptr ? std::nullopt : decode_base64(*text);
  return blob ? Charsmap::parse(*blob) : std::nullopt;
}

}  // namespace

std::unique_ptr<Normalizer> read_charsmap_normalizer(const TokenizerFile& file,
                                                     const Json& component) {
  auto map = decode(component["precompiled_charsmap"]);
  if (!map)
    file.refuse(component["precompiled_charsmap"], "normalizer.precompiled_charsmap",
                "SentencePiece's rules in base64");
  return std::make_unique<CharsmapNormalizer>(std::move(*map));
}

}  // namespace heed
