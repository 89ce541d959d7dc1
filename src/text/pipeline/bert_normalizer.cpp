// BERT's cleaning: removes controls, accents and case, turns white space into spaces, and separates
// Chinese characters.
#include "text/pipeline/normalizer.h"
#include "text/unicode/normal_form.h"
#include "text/unicode/properties.h"
#include "text/utf8.h"

namespace heed {
namespace {

struct Options {
  bool clean = true;
  bool part_chinese = true;
  bool strip_accents = true;
  bool lowercase = true;
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

class Clean final : public EachCharacter {
 public:
  explicit Clean(const Options& options) : options_(options) {}

 private:
  void change(char32_t code, std::vector<char32_t>& out) const override {
    if (options_.clean) {
      if (is_dropped(code)) return;
      if (is_space(code)) code = ' ';
    }
    const bool alone = options_.part_chinese && is_chinese(code);
    if (alone) out.push_back(' ');
    out.push_back(code);
    if (alone) out.push_back(' ');
  }
  Options options_;
};

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const Options& options) : options_(options), clean_(options) {}

  Piece apply(const Piece& piece, Arena& arena) const override {
    Piece result = piece;
    if (options_.clean || options_.part_chinese) result = clean_.apply(result, arena);
    if (options_.strip_accents) result = without_accents(result, arena);
    return options_.lowercase ? lowercase_.apply(result, arena) : result;
  }

 private:
  static Piece without_accents(const Piece& piece, Arena& arena) {
    const NormalForm form = {.compatible = false, .composed = false};
    if (is_plainly_normal(piece.text, form)) return piece;
    Rewrite rewrite(piece, arena);
    for (const FormedCharacter& made : normal_form(piece.text, form))
      if (!is_library_accent(made.code)) rewrite.put(to_utf8(made.code), made.begin, made.end);
    return rewrite.finish();
  }

  Options options_;
  Clean clean_;
  Lowercase lowercase_;
};

}  // namespace

std::unique_ptr<Normalizer> read_bert_normalizer(const TokenizerFile&, const Json& component) {
  const bool lowercase = component["lowercase"].as_flag().value_or(true);
  return std::make_unique<BertNormalizer>(
      Options{.clean = component["clean_text"].as_flag().value_or(true),
              .part_chinese = component["handle_chinese_chars"].as_flag().value_or(true),
              .strip_accents = component["strip_accents"].as_flag().value_or(lowercase),
              .lowercase = lowercase});
}

}  // namespace heed
