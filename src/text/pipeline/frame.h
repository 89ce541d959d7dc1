// The post-processor: tokens put around a text, or around and between two.
#pragma once

#include <vector>

#include "text/tokenizer_file.h"

namespace heed {

/// Tokens to insert, or one of the texts.
struct FramePart {
  std::vector<TokenId> ids = {};  // if `text` is -1
  int text = -1;
  std::int32_t type = 0;
};

struct Frame {
  std::vector<FramePart> one = {{.text = 0}};
  std::vector<FramePart> two = {{.text = 0}, {.text = 1, .type = 1}};
};

/// Reads the component `post_processor` of a file.
Frame read_frame(const TokenizerFile& file);

/// A text's ids and spans.
struct PlainEncoding {
  std::vector<TokenId> ids = {};
  std::vector<TokenSpan> spans = {};
  std::int64_t bytes = 0;  // of the text
};

/// `texts` has one or two. Without `add_special` the result has only their tokens, with their
/// types.
Encoding framed(const Frame& frame, std::span<const PlainEncoding> texts, bool add_special);

}  // namespace heed
