// The normalisers of `tokenizer.json`, by their `type`.
#include <algorithm>

#include "text/byte_alphabet.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/pattern.h"
#include "text/unicode/normal_form.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

class NormalizerChain final : public Normalizer {
 public:
  explicit NormalizerChain(std::vector<std::unique_ptr<Normalizer>> parts)
      : parts_(std::move(parts)) {}
  Piece apply(const Piece& piece, Arena& arena) const override {
    Piece result = piece;
    for (const auto& part : parts_) result = part->apply(result, arena);
    return result;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

class Formed final : public Normalizer {
 public:
  explicit Formed(NormalForm form) : form_(form) {}
  Piece apply(const Piece& piece, Arena& arena) const override {
    if (is_plainly_normal(piece.text, form_)) return piece;
    Rewrite rewrite(piece, arena);
    for (const FormedCharacter& made : normal_form(piece.text, form_))
      rewrite.put(to_utf8(made.code), made.begin, made.end);
    return rewrite.finish();
  }

 private:
  NormalForm form_;
};

// Each byte as a character of GPT-2's alphabet, like the pre-tokenisers of that name.
class ByteCharacters final : public Normalizer {
 public:
  Piece apply(const Piece& piece, Arena& arena) const override {
    Rewrite rewrite(piece, arena);
    for (std::size_t i = 0; i < piece.text.size(); ++i)
      rewrite.put(byte_characters()[static_cast<unsigned char>(piece.text[i])], i, i + 1);
    return rewrite.finish();
  }
};

class StripAccents final : public EachCharacter {
  void change(char32_t code, std::vector<char32_t>& out) const override {
    if (!is_library_mark(code)) out.push_back(code);
  }
};

// SentencePiece's rules for machine translation: which characters are white space and which are
// dropped.
class Nmt final : public EachCharacter {
  void change(char32_t code, std::vector<char32_t>& out) const override {
    const bool dropped = (code >= 1 && code <= 8) || code == 0x0B ||
                         (code >= 0x0E && code <= 0x1F) || code == 0x7F || code == 0x8F ||
                         code == 0x9F;
    if (dropped) return;
    const bool space = code == 0x09 || code == 0x0A || code == 0x0C || code == 0x0D ||
                       code == 0x1680 || (code >= 0x200B && code <= 0x200F) || code == 0x2028 ||
                       code == 0x2029 || code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
    out.push_back(space ? U' ' : code);
  }
};

class StripText final : public Normalizer {
 public:
  StripText(bool left, bool right) : left_(left), right_(right) {}
  Piece apply(const Piece& piece, Arena& /*arena*/) const override {
    const std::size_t end =
        right_ ? spaces_before(piece.text, 0, piece.text.size()) : piece.text.size();
    const std::size_t begin = left_ ? skip_spaces(piece.text, 0, end) : 0;
    return piece.slice(begin, end);
  }

 private:
  bool left_;
  bool right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string text) : text_(std::move(text)) {}
  Piece apply(const Piece& piece, Arena& arena) const override {
    return piece.text.empty() ? piece : prepended(piece, text_, arena);
  }

 private:
  std::string text_;
};

class ReplaceText final : public Normalizer {
 public:
  ReplaceText(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Piece apply(const Piece& piece, Arena& arena) const override {
    const std::vector<PatternMatch> matches = pattern_->matches(piece.text);
    if (matches.empty()) return piece;
    Rewrite rewrite(piece, arena);
    std::size_t done = 0;
    for (const auto& [begin, end] : matches) {
      rewrite.keep(done, begin);
      rewrite.put(content_, begin, end);
      done = end;
    }
    rewrite.keep(done, piece.text.size());
    return rewrite.finish();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

std::unique_ptr<Normalizer> read_normalizers(const TokenizerFile& file, const Json& component) {
  std::vector<std::unique_ptr<Normalizer>> parts;
  for (const Json& part : file.list(component["normalizers"], "normalizer.normalizers"))
    if (auto normalizer = read_normalizer(file, part)) parts.push_back(std::move(normalizer));
  return std::make_unique<NormalizerChain>(std::move(parts));
}

template <bool compatible, bool composed>
std::unique_ptr<Normalizer> read_form(const TokenizerFile&, const Json&) {
  return std::make_unique<Formed>(NormalForm{.compatible = compatible, .composed = composed});
}

template <typename T>
std::unique_ptr<Normalizer> read_plain(const TokenizerFile&, const Json&) {
  return std::make_unique<T>();
}

std::unique_ptr<Normalizer> read_strip_text(const TokenizerFile&, const Json& component) {
  return std::make_unique<StripText>(component["strip_left"].as_flag().value_or(true),
                                     component["strip_right"].as_flag().value_or(true));
}

std::unique_ptr<Normalizer> read_prepend(const TokenizerFile& file, const Json& component) {
  return std::make_unique<Prepend>(file.text_of(component["prepend"], "normalizer.prepend"));
}

std::unique_ptr<Normalizer> read_replace_text(const TokenizerFile& file, const Json& component) {
  return std::make_unique<ReplaceText>(
      read_pattern(file, component["pattern"], "normalizer.pattern"),
      file.text_of(component["content"], "normalizer.content"));
}

constexpr ComponentReader<Normalizer> kNormalizers[] = {
    {"BertNormalizer", read_bert_normalizer},
    {"ByteLevel", read_plain<ByteCharacters>},
    {"Lowercase", read_plain<Lowercase>},
    {"NFC", read_form<false, true>},
    {"NFD", read_form<false, false>},
    {"NFKC", read_form<true, true>},
    {"NFKD", read_form<true, false>},
    {"Nmt", read_plain<Nmt>},
    {"Precompiled", read_charsmap_normalizer},
    {"Prepend", read_prepend},
    {"Replace", read_replace_text},
    {"Sequence", read_normalizers},
    {"Strip", read_strip_text},
    {"StripAccents", read_plain<StripAccents>},
};

}  // namespace

Piece EachCharacter::apply(const Piece& piece, Arena& arena) const {
  Rewrite rewrite(piece, arena);
  std::vector<char32_t> made;
  for (std::size_t i = 0; i < piece.text.size();) {
    const Character character = character_at(piece.text, i);
    made.clear();
    change(character.code, made);
    if (made.size() == 1 && made[0] == character.code) {
      rewrite.keep(i, i + character.bytes);
    } else {
      for (const char32_t code : made) rewrite.put(to_utf8(code), i, i + character.bytes);
    }
    i += character.bytes;
  }
  return rewrite.finish();
}

void Lowercase::change(char32_t code, std::vector<char32_t>& out) const {
  const LowerCase lower = lower_case(code);
  out.insert(out.end(), lower.codes, lower.codes + lower.count);
}

std::unique_ptr<Normalizer> read_normalizer(const TokenizerFile& file, const Json& component) {
  return read_component<Normalizer>(file, component, "normalizer", kNormalizers);
}

}  // namespace heed
