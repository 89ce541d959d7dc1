#include "models/tokenizer_config.h"

#include <utility>

#include "base/formats/json.h"
#include "text/special_names.h"

namespace heed {

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
