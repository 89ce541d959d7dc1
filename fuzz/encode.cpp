// The first byte chooses one of the tokenizers of tests/text/tokenizers, the others are a text.
// Invalid UTF-8 is refused; spans are within the text and do not go back; byte-level text is
// restored.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "heed/error.h"
#include "heed/tokenizer.h"

namespace {

struct Opened {
  std::unique_ptr<heed::Tokenizer> tokenizer;
  bool comes_back = false;  // decoding gives the text
};

const std::vector<Opened>& all() {
  static const std::vector<Opened> opened = [] {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(HEED_FUZZ_TOKENIZERS))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<Opened> list;
    for (const auto& file : files)
      list.push_back({heed::load_tokenizer(file), file.filename().string().starts_with("bytes")});
    return list;
  }();
  return opened;
}

void check(const Opened& opened, std::string_view text) {
  const heed::Encoding encoding = opened.tokenizer->encode(text, false);
  std::int64_t reached = 0;
  for (const heed::TokenSpan& span : encoding.spans) {
    if (span.begin > span.end || span.end > static_cast<std::int64_t>(text.size())) std::abort();
    if (span.end < reached && opened.comes_back) std::abort();
    reached = span.end;
  }
  const std::string back = opened.tokenizer->decode(encoding.ids, false);
  if (opened.comes_back && back != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    check(all()[data[0] % all().size()], text);
  } catch (const heed::Error&) {
    if (heed::find_invalid_utf8(text) < 0) std::abort();  // the only reason to refuse a text
  }
  return 0;
}
