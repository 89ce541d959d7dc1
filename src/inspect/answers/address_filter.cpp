#include <algorithm>

#include "heed/error.h"
#include "heed/look.h"
#include "inspect/answers/view_parts.h"

namespace heed {
namespace {

// Browsers write some letters of an address as %3E; a space may be written as a plus sign.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = percent_byte(text, at);
    plain += byte.value_or(text[at] == '+' ? ' ' : text[at]);
    if (byte) at += 2;
  }
  return plain;
}

std::string with_single_blanks(std::string_view text) {
  std::string single;
  for (const char letter : text)
    if (letter != ' ' || (!single.empty() && single.back() != ' ')) single += letter;
  if (single.ends_with(' ')) single.pop_back();
  return single;
}

}  // namespace

bool read_filter(ViewAddress& view, std::string_view text) {
  try {
    view.filter = with_single_blanks(parse_head_filter(decoded(text)).text);
  } catch (const Error&) {
    return false;
  }
  return !view.filter.empty();
}

std::string filter_text(const ViewAddress& view) {
  std::string text = view.filter;
  std::ranges::replace(text, ' ', '+');
  return text;
}

}  // namespace heed
