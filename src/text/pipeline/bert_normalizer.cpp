// BERT's cleaning: removes controls, accents and case, turns white space into spaces, and separates
// Chinese characters.
#include "text/pipeline/normalizer.h"
#include "text/unicode/properties.h"

namespace heed {
namespace {

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

}  // namespace

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

}  // namespace heed
