#include "train/special_tokens.h"

namespace heed {

SpecialTokens special_tokens_of(const Tokenizer& tokenizer) {
  SpecialTokens special = {
      .mask = mask_token_of(tokenizer),
      .pad = pad_token_of(tokenizer),
      .end = find_first(tokenizer, {"</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "[SEP]"})};
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
  if (begins) return {.tokens = {"<s>"}, .begin = "<s>"};  // like Llama's
  return {.tokens = {"<|endoftext|>"}};
}

}  // namespace heed
