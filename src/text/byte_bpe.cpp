#include "text/byte_bpe.h"

#include <set>

#include "text/byte_alphabet.h"
#include "text/pipeline/pattern.h"
#include "text/pipeline_tokenizer.h"
#include "text/tokenizer_file.h"
#include "text/unicode/normal_form.h"
#include "text/utf8.h"

namespace heed {

namespace {

Json byte_level(const ByteBpeContent& content) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", content.add_prefix_space},
          {"trim_offsets", false},
          {"use_regex", content.pattern.empty()}};
}

Json pre_tokenizer(const ByteBpeContent& content) {
  if (content.pattern.empty()) return byte_level(content);
  const Json split = {{"type", "Split"},
                      {"pattern", Json({{"Regex", content.pattern}})},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level(content)})}};
}

Json model(const ByteBpeContent& content) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", content.ignore_merges},
          {"vocab", vocabulary_json(content.pieces)},
          {"merges", content.merges}};
}

}  // namespace

std::unique_ptr<Tokenizer> train_qwen2_characters(std::string_view text) {
  require_utf8(text);
  std::set<std::string> parts;  // of characters: their first byte, two bytes, ...
  std::set<std::string> bytes;
  for (const FormedCharacter& character :
       normal_form(text, {.compatible = false, .composed = true})) {
    const std::string whole = to_utf8(character.code);
    for (std::size_t end = 1; end <= whole.size(); ++end) {
      parts.insert(whole.substr(0, end));
      bytes.insert(whole.substr(end - 1, 1));
    }
  }
  parts.insert(bytes.begin(), bytes.end());
  ByteBpeContent content = {.pattern = std::string(kQwen2Words), .normalizer = "NFC"};
  for (const std::string& part : parts) {
    content.pieces.push_back(piece_of_bytes(part));
    if (part.size() > 1)
      content.merges.push_back(piece_of_bytes(part.substr(0, part.size() - 1)) + " " +
                               piece_of_bytes(part.substr(part.size() - 1)));
  }
  return read_tokenizer(TokenizerFile("characters", byte_bpe_json(content)));
}

std::string byte_bpe_json(const ByteBpeContent& content) {
  Json normalizer;
  if (!content.normalizer.empty()) normalizer = {{"type", content.normalizer}};
  return write_tokenizer_json({.normalizer = normalizer,
                               .pre_tokenizer = pre_tokenizer(content),
                               .post_processor = content.post_processor.is_null()
                                                     ? byte_level(content)
                                                     : content.post_processor,
                               .decoder = byte_level(content),
                               .model = model(content),
                               .added_tokens = content.added_tokens});
}

}  // namespace heed
