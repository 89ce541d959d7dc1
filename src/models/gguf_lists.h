// A tokenizer as the lists of a GGUF file.
#pragma once

#include "base/formats/json.h"
#include "heed/text/tokenizer.h"

namespace heed {

/// Adds `tokenizer.ggml.*`; kUnsupported for what such lists cannot hold.
void write_token_lists(const Tokenizer& tokenizer, Json& metadata);

}  // namespace heed
