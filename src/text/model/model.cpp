#include "text/model/model.h"

namespace heed {
namespace {

struct Reader {
  std::string_view type;
  std::unique_ptr<TokenModel> (*read)(const TokenizerFile&, const Vocabulary&);
};

constexpr Reader kReaders[] = {
    {"BPE", read_bpe},
    {"Unigram", read_unigram},
    {"WordLevel", read_word_level},
    {"WordPiece", read_word_piece},
};

}  // namespace

std::string model_type(const Json& model) {
  if (model.has("type")) return type_name(model);
  if (model.has("merges")) return "BPE";
  if (model.has("max_input_chars_per_word")) return "WordPiece";
  return model["vocab"].is_array() ? "Unigram" : "WordLevel";
}

std::unique_ptr<TokenModel> read_model(const TokenizerFile& file, const Vocabulary& vocabulary) {
  const std::string type = model_type(file.model());
  for (const Reader& reader : kReaders)
    if (reader.type == type) return reader.read(file, vocabulary);
  file.refuse_type(file.model(), "model", "one of BPE, Unigram, WordLevel, WordPiece");
}

TokenId unknown_id(const TokenizerFile& file, const Vocabulary& vocabulary) {
  const Json& unknown = file.model()["unk_token"];
  if (unknown.is_null()) return -1;
  const TokenId id = vocabulary.find(file.text_of(unknown, "model.unk_token"));
  if (id < 0) file.refuse(unknown, "model.unk_token", "a piece of the vocabulary");
  return id;
}

}  // namespace heed
