// The normalisers of `tokenizer.json`, by their `type`.
#include <vector>

#include "text/byte_alphabet.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/pattern.h"
#include "text/unicode/normal_form.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

// Applies the normalizers in this order.
Normalizer in_turn(std::vector<Normalizer> parts) {
  return [parts = std::move(parts)](const Piece& piece, Arena& arena) {
    Piece result = piece;
    for (const Normalizer& part : parts) result = part(result, arena);
    return result;
  };
}

// Changes each character independently: `change` appends the replacement of `code` to `out`.
Normalizer of_each_character(std::function<void(char32_t, std::vector<char32_t>&)> change) {
  return [change = std::move(change)](const Piece& piece, Arena& arena) {
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
  };
}

// The characters of the normal form, except those that `drops` names.
Normalizer formed(NormalForm form, bool (*drops)(char32_t code)) {
  return [=](const Piece& piece, Arena& arena) {
    if (is_plainly_normal(piece.text, form)) return piece;
    Rewrite rewrite(piece, arena);
    for (const FormedCharacter& made : normal_form(piece.text, form))
      if (!drops(made.code)) rewrite.put(to_utf8(made.code), made.begin, made.end);
    return rewrite.finish();
  };
}

void append_lower_case(char32_t code, std::vector<char32_t>& out) {
  const LowerCase lower = lower_case(code);
  out.insert(out.end(), lower.codes, lower.codes + lower.count);
}

// Each byte as a character of GPT-2's alphabet, like the pre-tokenisers of that name.
Piece in_byte_characters(const Piece& piece, Arena& arena) {
  Rewrite rewrite(piece, arena);
  for (std::size_t i = 0; i < piece.text.size(); ++i)
    rewrite.put(byte_characters()[static_cast<unsigned char>(piece.text[i])], i, i + 1);
  return rewrite.finish();
}

void strip_accents(char32_t code, std::vector<char32_t>& out) {
  if (!is_library_mark(code)) out.push_back(code);
}

// SentencePiece's rules for machine translation: which characters are white space and which are
// dropped.
void nmt(char32_t code, std::vector<char32_t>& out) {
  const bool dropped = (code >= 1 && code <= 8) || code == 0x0B || (code >= 0x0E && code <= 0x1F) ||
                       code == 0x7F || code == 0x8F || code == 0x9F;
  if (dropped) return;
  const bool space = code == 0x09 || code == 0x0A || code == 0x0C || code == 0x0D ||
                     code == 0x1680 || (code >= 0x200B && code <= 0x200F) || code == 0x2028 ||
                     code == 0x2029 || code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
  out.push_back(space ? U' ' : code);
}

Piece with_content(const Piece& piece, const Pattern& pattern, std::string_view content,
                   Arena& arena) {
  const std::vector<PatternMatch> matches = pattern(piece.text);
  if (matches.empty()) return piece;
  Rewrite rewrite(piece, arena);
  std::size_t done = 0;
  for (const auto& [begin, end] : matches) {
    rewrite.keep(done, begin);
    rewrite.put(content, begin, end);
    done = end;
  }
  rewrite.keep(done, piece.text.size());
  return rewrite.finish();
}

Normalizer read_normalizers(const TokenizerFile& file, const Json& component) {
  std::vector<Normalizer> parts;
  for (const Json& part : file.list(component["normalizers"], "normalizer.normalizers"))
    if (Normalizer normalizer = read_normalizer(file, part)) parts.push_back(std::move(normalizer));
  return in_turn(std::move(parts));
}

template <bool compatible, bool composed>
Normalizer read_form(const TokenizerFile&, const Json&) {
  return formed({.compatible = compatible, .composed = composed}, [](char32_t) { return false; });
}

template <void (*change)(char32_t code, std::vector<char32_t>& out)>
Normalizer read_change(const TokenizerFile&, const Json&) {
  return of_each_character(change);
}

Normalizer read_byte_normalizer(const TokenizerFile&, const Json&) { return in_byte_characters; }

Normalizer read_strip_text(const TokenizerFile&, const Json& component) {
  const bool left = component["strip_left"].as_flag().value_or(true);
  const bool right = component["strip_right"].as_flag().value_or(true);
  return [=](const Piece& piece, Arena&) {
    const std::size_t size = piece.text.size();
    const std::size_t end = right ? spaces_before(piece.text, 0, size) : size;
    return piece.slice(left ? skip_spaces(piece.text, 0, end) : 0, end);
  };
}

Normalizer read_prepend(const TokenizerFile& file, const Json& component) {
  return [text = file.text_of(component["prepend"], "normalizer.prepend")](const Piece& piece,
                                                                           Arena& arena) {
    return piece.text.empty() ? piece : prepended(piece, text, arena);
  };
}

Normalizer read_replace_text(const TokenizerFile& file, const Json& component) {
  Pattern pattern = read_pattern(file, component["pattern"], "normalizer.pattern");
  std::string content = file.text_of(component["content"], "normalizer.content");
  return [pattern = std::move(pattern), content = std::move(content)](const Piece& piece,
                                                                      Arena& arena) {
    return with_content(piece, pattern, content, arena);
  };
}

// BERT's cleaning: removes controls, accents and case, turns white space into spaces, and separates
// Chinese characters.
struct Options {
  bool clean = true;
  bool part_chinese = true;
};

bool is_dropped(char32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  return code == 0 || code == 0xFFFD || is_library_hidden(code);
}

bool is_chinese(char32_t code) {
  constexpr char32_t kRanges[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                     {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                     {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kRanges)
    if (code >= first && code <= last) return true;
  return false;
}

void append_clean(const Options& options, char32_t code, std::vector<char32_t>& out) {
  if (options.clean) {
    if (is_dropped(code)) return;
    if (is_space(code)) code = ' ';
  }
  const bool alone = options.part_chinese && is_chinese(code);
  if (alone) out.push_back(' ');
  out.push_back(code);
  if (alone) out.push_back(' ');
}

Normalizer read_bert_normalizer(const TokenizerFile&, const Json& component) {
  const auto flag = [&](const char* name, bool otherwise) {
    return component[name].as_flag().value_or(otherwise);
  };
  const Options options = {.clean = flag("clean_text", true),
                           .part_chinese = flag("handle_chinese_chars", true)};
  const bool is_lower = flag("lowercase", true);
  std::vector<Normalizer> parts;
  if (options.clean || options.part_chinese)
    parts.push_back(of_each_character(
        [=](char32_t code, std::vector<char32_t>& out) { append_clean(options, code, out); }));
  if (flag("strip_accents", is_lower))
    parts.push_back(formed({.compatible = false, .composed = false}, is_library_accent));
  if (is_lower) parts.push_back(of_each_character(append_lower_case));
  return in_turn(std::move(parts));
}

constexpr ComponentReader<Normalizer> kNormalizers[] = {
    {"BertNormalizer", read_bert_normalizer},
    {"ByteLevel", read_byte_normalizer},
    {"Lowercase", read_change<append_lower_case>},
    {"NFC", read_form<false, true>},
    {"NFD", read_form<false, false>},
    {"NFKC", read_form<true, true>},
    {"NFKD", read_form<true, false>},
    {"Nmt", read_change<nmt>},
    {"Precompiled", read_charsmap_normalizer},
    {"Prepend", read_prepend},
    {"Replace", read_replace_text},
    {"Sequence", read_normalizers},
    {"Strip", read_strip_text},
    {"StripAccents", read_change<strip_accents>},
};

}  // namespace

Normalizer read_normalizer(const TokenizerFile& file, const Json& component) {
  return read_component<Normalizer>(file, component, "normalizer", kNormalizers);
}

}  // namespace heed
