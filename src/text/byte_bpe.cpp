#include "text/byte_bpe.h"

#include "text/tokenizer_file.h"

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
