// Times a tokenizer on texts, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heed/tokenizer.h"

namespace heed {

struct TokenizeTiming {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t tokens = 0;
  double encode_seconds = 0;  // median
  double decode_seconds = 0;
  double spread = 0;  // of the middle half of the encodings, relative to the median
  double encode_megabytes_per_second = 0;  // 10^6 bytes of the text
  double decode_megabytes_per_second = 0;
};

/// Encodes and decodes the text as a whole, without special tokens.
TokenizeTiming time_tokenizer(const Tokenizer& tokenizer, const std::string& name,
                              std::string_view text);

}  // namespace heed
