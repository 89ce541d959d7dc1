// The bytes are a tokenizer.json. It is refused with a heed::Error, or it encodes and decodes
// texts, whatever its parts; spans are within the text.
#include <cstdlib>
#include <string_view>

#include "heed/error.h"
#include "text/pipeline_tokenizer.h"

namespace {

constexpr std::string_view kTexts[] = {"", "a", " the cat's  12 \n",
                                       "<s>Ünï\xCC\x81 한 日本 🦉</s> a▁b"};

void use(const heed::Tokenizer& tokenizer, std::string_view text) {
  try {
    const heed::Encoding encoding = tokenizer.encode_pair(text, text, true);
    for (const heed::TokenSpan& span : encoding.spans)
      if (span.begin < 0 || span.begin > span.end ||
          span.end > static_cast<std::int64_t>(text.size()))
        std::abort();
    tokenizer.decode(encoding.ids, true);
    for (const heed::TokenId id : encoding.ids) tokenizer.token_bytes(id);
  } catch (const heed::Error&) {  // WordLevel without an unknown token
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto tokenizer = heed::read_tokenizer(
        heed::TokenizerFile("fuzz", std::string(reinterpret_cast<const char*>(data), size)));
    for (const std::string_view text : kTexts) use(*tokenizer, text);
  } catch (const heed::Error&) {
  }
  return 0;
}
