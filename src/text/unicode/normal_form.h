// Unicode's normal forms (UAX 15) as in the `tokenizers` library, that is, of Unicode 9.0: later
// characters are unchanged. Each resulting character has its source.
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

/// True if a scan of the bytes shows that `text` is already in that form.
bool is_plainly_normal(std::string_view text, NormalForm form);

/// `text` must be valid UTF-8. A composed character's source includes the bytes of all its parts.
std::vector<FormedCharacter> normal_form(std::string_view text, NormalForm form);

}  // namespace heed
