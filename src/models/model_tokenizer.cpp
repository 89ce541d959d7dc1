#include "models/model_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "text/added_token.h"

namespace heed {
namespace {

class PaddedTokenizer final : public Tokenizer {
 public:
  PaddedTokenizer(std::unique_ptr<Tokenizer> own, std::int64_t vocabulary)
      : own_(std::move(own)), size_(std::max(vocabulary, own_->vocabulary_size())) {}

  std::int64_t vocabulary_size() const override { return own_->vocabulary_size(); }
  bool has(TokenId id) const override { return own_->has(id); }
  std::int64_t padded_size() const override { return size_; }
  Encoding encode(std::string_view text, bool add_special) const override {
    return own_->encode(text, add_special);
  }
  Encoding encode_pair(std::string_view first, std::string_view second,
                       bool add_special) const override {
    return own_->encode_pair(first, second, add_special);
  }
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override {
    std::vector<TokenId> kept;
    std::ranges::copy_if(ids, std::back_inserter(kept), [&](TokenId id) { return !is_empty(id); });
    return own_->decode(kept, skip_special);
  }
  std::string token_bytes(TokenId id) const override {
    return is_empty(id) ? "" : own_->token_bytes(id);
  }
  std::string piece(TokenId id) const override { return is_empty(id) ? "" : own_->piece(id); }
  bool is_special(TokenId id) const override { return !is_empty(id) && own_->is_special(id); }
  TokenId find(std::string_view piece) const override { return own_->find(piece); }
  TokenId unknown_token() const override { return own_->unknown_token(); }
  std::string to_json() const override { return own_->to_json(); }

 private:
  bool is_empty(TokenId id) const { return id >= 0 && id < size_ && !own_->has(id); }

  std::unique_ptr<Tokenizer> own_;
  std::int64_t size_;
};

}  // namespace

std::unique_ptr<Tokenizer> padded(std::unique_ptr<Tokenizer> tokenizer, std::int64_t vocabulary) {
  if (!tokenizer) return nullptr;
  return std::make_unique<PaddedTokenizer>(std::move(tokenizer), vocabulary);
}

void require_in_vocabulary(std::string_view op, const Tokenizer& tokenizer,
                           std::span<const TokenId> ids, std::int64_t vocabulary) {
  const auto outside = std::ranges::find_if(ids, [&](TokenId id) { return id >= vocabulary; });
  if (outside == ids.end()) return;
  fail(std::string(op),
       fmt::format("token '{}' of the text", displayable(tokenizer.piece(*outside))),
       fmt::format("{} in the tokenizer", *outside),
       fmt::format("0 to {}: the tokenizer has {}, the model's vocabulary {}, "
                   "so they do not belong together",
                   vocabulary - 1, number_of(tokenizer.vocabulary_size(), "token"), vocabulary),
       ErrorCode::kCorrupt);
}

std::string tokenizer_config_json(const Tokenizer& tokenizer, bool has_types) {
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false},
              {"model_input_names",
               has_types ? Json::array({"input_ids", "token_type_ids", "attention_mask"})
                         : Json::array({"input_ids", "attention_mask"})}};
  const std::pair<const char*, TokenId> parts[] = {
      {"bos_token", find_first(tokenizer, {"<s>", "<bos>", "<|endoftext|>"})},
      {"eos_token", find_first(tokenizer, {"</s>", "<eos>", "<|endoftext|>"})},
      {"unk_token", find_first(tokenizer, {"[UNK]", "<unk>"})},
      {"sep_token", find_first(tokenizer, {"[SEP]"})},
      {"pad_token", pad_token_of(tokenizer)},
      {"cls_token", find_first(tokenizer, {"[CLS]"})},
      {"mask_token", mask_token_of(tokenizer)}};
  for (const auto& [key, id] : parts)
    if (id >= 0 && tokenizer.is_special(id)) config.set(key, tokenizer.piece(id));
  return config.dump(2) + "\n";
}

}  // namespace heed
