// Unicode's normal forms (UAX 15) as the `tokenizers` library has them, those of Unicode 9.0: later
// characters stay as they are. Each character that results knows its source.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace heed {

struct NormalForm {
  bool compatible = false;  // NFKD and NFKC
  bool composed = false;    // NFC and NFKC
};

/// A character of the result, and the source bytes [begin, end) that it was made from.
struct FormedCharacter {
  char32_t code = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// True where a look at the bytes shows that `text` is in that form already.
bool is_plainly_normal(std::string_view text, NormalForm form);

/// `text` is valid UTF-8. A character that was composed stands for the bytes of all its parts.
std::vector<FormedCharacter> normal_form(std::string_view text, NormalForm form);

}  // namespace heed
