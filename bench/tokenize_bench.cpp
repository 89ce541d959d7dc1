#include "bench/tokenize_bench.h"

#include "bench/measure.h"

namespace heed {

TokenizeTiming time_tokenizer(const Tokenizer& tokenizer, const std::string& name,
                              std::string_view text) {
  Encoding encoding;
  const Repeated encoded = repeat([&] { encoding = tokenizer.encode(text, false); });
  std::string back;
  const Repeated decoded = repeat([&] { back = tokenizer.decode(encoding.ids, false); });
  const double megabytes = static_cast<double>(text.size()) * 1e-6;
  return {.name = name,
          .bytes = static_cast<std::int64_t>(text.size()),
          .tokens = static_cast<std::int64_t>(encoding.ids.size()),
          .encode_seconds = encoded.seconds,
          .decode_seconds = decoded.seconds,
          .spread = encoded.spread,
          .encode_megabytes_per_second = megabytes / encoded.seconds,
          .decode_megabytes_per_second = megabytes / decoded.seconds};
}

}  // namespace heed
