// One vector for a text, as sentence encoders compute it (Reimers & Gurevych 2019).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/models/registry.h"

namespace heed {

struct SentenceLayer;

/// How the states of a text's tokens become one vector.
struct Pooling {
  enum class Kind : std::uint8_t { kMean, kFirst };

  Kind kind = Kind::kMean;
  bool normalised = true;                                         // scale to length 1
  std::vector<std::shared_ptr<const SentenceLayer>> layers = {};  // linear layers before that
};

/// Reads `1_Pooling/config.json` and `modules.json` beside the model, with its Dense modules, as
/// sentence-transformers writes them; default: the mean, normalised. Other poolings and modules
/// are kUnsupported.
Pooling read_pooling(const std::filesystem::path& folder);

/// The vector of a text whose tokens have these last states, [T, C] f32. It has C numbers, or as
/// many as the last layer of `pooling` gives.
std::vector<float> pooled(const ConstView& states, const Pooling& pooling);

/// How many tokens of a text the encoder reads, including special ones. Like sentence-transformers:
/// `max_seq_length` of sentence_bert_config.json, else `model_max_length` of tokenizer_config.json,
/// and at most the model's positions.
std::int64_t most_sentence_tokens(const LoadedModel& model);

/// Which tokens of a long text are read. Tokens that the tokenizer adds are always included.
enum class SentencePart : std::uint8_t { kAll, kFirst, kLast };
struct SentenceTokens {
  std::vector<TokenId> ids;
  std::int64_t whole = 0;  // number of tokens in the whole text
};
/// At most `most` tokens, except for kAll.
SentenceTokens sentence_tokens(const Tokenizer& tokenizer, std::string_view text, SentencePart part,
                               std::int64_t most);

/// [texts, numbers of a vector] f32, from an encoder's last states. The texts run as one batch.
Tensor sentence_vectors(const Model& model, std::span<const std::vector<TokenId>> texts,
                        const Pooling& pooling = {});
/// Reads the first `most_sentence_tokens` tokens of each text.
Tensor sentence_vectors(const LoadedModel& model, std::span<const std::string> texts);

}  // namespace heed
