// One vector for a whole text: what sentence encoders are trained for (Reimers & Gurevych 2019).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/models/registry.h"

namespace heed {

/// How the states of a text's tokens become one vector.
struct Pooling {
  enum class Kind : std::uint8_t { kMean, kFirst };

  Kind kind = Kind::kMean;
  bool normalised = true;  // to length 1
};

/// From `1_Pooling/config.json` and `modules.json` beside the model, as sentence-transformers
/// writes them; the mean, normalised, where there are none. Other ways to pool are kUnsupported.
Pooling read_pooling(const std::filesystem::path& folder);

/// The vector of a text whose tokens have these last states, [T, C] of f32.
std::vector<float> pooled(const ConstView& states, const Pooling& pooling);

/// The tokens of a text that the encoder is given, special ones among them: as
/// sentence-transformers has it, `max_seq_length` of sentence_bert_config.json, else
/// `model_max_length` of tokenizer_config.json, and never more than the model has positions.
std::int64_t most_sentence_tokens(const LoadedModel& model);

/// Which of a long text's tokens are given. Those that the tokenizer adds always are.
enum class SentencePart : std::uint8_t { kAll, kFirst, kLast };
struct SentenceTokens {
  std::vector<TokenId> ids;
  std::int64_t whole = 0;  // the tokens of the whole text
};
/// At most `most` but for kAll.
SentenceTokens sentence_tokens(const Tokenizer& tokenizer, std::string_view text, SentencePart part,
                               std::int64_t most);

/// [texts, C], f32, of an encoder's last states. The texts run side by side.
Tensor sentence_vectors(const Model& model, std::span<const std::vector<TokenId>> texts,
                        const Pooling& pooling = {});
/// Of the first `most_sentence_tokens` tokens of each.
Tensor sentence_vectors(const LoadedModel& model, std::span<const std::string> texts);

}  // namespace heed
