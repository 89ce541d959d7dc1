#include "train/special_tokens.h"

#include <initializer_list>

namespace heed {
namespace {

TokenId first_of(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const TokenId id = tokenizer.find(name); id >= 0) return id;
  return -1;
}

}  // namespace

SpecialTokens special_tokens_of(const Tokenizer& tokenizer) {
  SpecialTokens special = {
      .mask = first_of(tokenizer, {"[MASK]", "<mask>"}),
      .pad = first_of(tokenizer, {"[PAD]", "<pad>"}),
      .end = first_of(tokenizer, {"</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "[SEP]"})};
  const std::vector<TokenId> frame = tokenizer.encode("", /*add_special=*/true).ids;
  const bool ends_only = frame.size() == 1 && frame[0] == special.end;
  const auto middle = frame.begin() + (ends_only ? 0 : (std::ssize(frame) + 1) / 2);
  special.before.assign(frame.begin(), middle);
  special.behind.assign(middle, frame.end());
  return special;
}

PairFrame pair_frame_of(const Tokenizer& tokenizer) {
  const SpecialTokens alone = special_tokens_of(tokenizer);
  const Encoding pair = tokenizer.encode_pair("", "", /*add_special=*/true);
  PairFrame frame{.before = alone.before, .behind = alone.behind};
  const auto first = pair.ids.begin() + std::ssize(alone.before);
  const auto last = pair.ids.end() - std::ssize(alone.behind);
  if (first < last) frame.between.assign(first, last);
  if (pair.types.empty()) return frame;
  frame.first_type = pair.types.front();
  frame.second_type = pair.types.back();
  return frame;
}

LearnedSpecials learned_specials(std::string_view task, bool begins) {
  if (task == "seq2seq") return {.tokens = {"<pad>", "</s>"}, .begin = "", .end = "</s>"};
  if (task == "mlm" || task == "classify")
    return {.tokens = {"[PAD]", "[CLS]", "[SEP]", "[MASK]"}, .begin = "[CLS]", .end = "[SEP]"};
  if (begins) return {.tokens = {"<s>"}, .begin = "<s>"};  // as Llama's
  return {.tokens = {"<|endoftext|>"}};
}

}  // namespace heed
