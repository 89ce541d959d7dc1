// A tokenizer as a pipeline: added tokens, normaliser, pre-tokeniser, model, post-processor, and a
// decoder for the way back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "text/model/model.h"
#include "text/pipeline/decoder.h"
#include "text/pipeline/frame.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text/tokenizer_file.h"

namespace heed {

struct TokenizerPipeline {
  std::unique_ptr<Vocabulary> vocabulary = {};  // all tokens; the model may point to it
  std::vector<AddedToken> added = {};
  Normalizer normalizer = {};       // empty: text unchanged
  PreTokenizer pre_tokenizer = {};  // empty: the text is one piece
  std::unique_ptr<TokenModel> model = {};
  Frame frame = {};
  Decoder decoder = {};
  std::function<std::string()> to_json = {};
};

/// Checks that the frame's ids are in the vocabulary; errors call the file `name`.
std::unique_ptr<Tokenizer> make_tokenizer(TokenizerPipeline pipeline, const std::string& name);

/// The tokenizer that a `tokenizer.json` describes.
std::unique_ptr<Tokenizer> read_tokenizer(const TokenizerFile& file);

}  // namespace heed
