#include "models/tokenizer_config.h"

#include <array>
#include <string_view>

#include "base/json.h"

namespace heed {
namespace {

struct Part {
  const char* key;
  std::array<std::string_view, 3> names;  // the first that the tokenizer has
};

constexpr std::array<Part, 7> kParts = {{{"bos_token", {"<s>", "<bos>", "<|endoftext|>"}},
                                         {"eos_token", {"</s>", "<eos>", "<|endoftext|>"}},
                                         {"unk_token", {"[UNK]", "<unk>", ""}},
                                         {"sep_token", {"[SEP]", "", ""}},
                                         {"pad_token", {"[PAD]", "<pad>", ""}},
                                         {"cls_token", {"[CLS]", "", ""}},
                                         {"mask_token", {"[MASK]", "<mask>", ""}}}};

}  // namespace

std::string tokenizer_config_json(const Tokenizer& tokenizer, bool has_types) {
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false},
              {"model_input_names",
               has_types ? Json::array({"input_ids", "token_type_ids", "attention_mask"})
                         : Json::array({"input_ids", "attention_mask"})}};
  for (const Part& part : kParts)
    for (const std::string_view name : part.names)
      if (const TokenId id = name.empty() ? -1 : tokenizer.find(name);
          id >= 0 && tokenizer.is_special(id)) {
        config.set(part.key, name);
        break;
      }
  return config.dump(2) + "\n";
}

}  // namespace heed
