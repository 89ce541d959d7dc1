#include "base/wording.h"

#include <numeric>
#include <vector>

namespace heed {

std::string clipped(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto inside = [&](std::size_t at) {  // a byte inside a character
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  while (most > 0 && inside(most)) --most;
  return std::string(text.substr(0, most)) + "...";
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // of the table a x b, one row at a time
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view nearest_name(std::span<const std::string_view> names, std::string_view word) {
  std::string_view nearest;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(name, word);
    if (distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

void fail_in(Phrase file, Phrase argument, Phrase found, Phrase expected, ErrorCode code) {
  fail({.code = code,
        .file = std::move(file),
        .argument = std::move(argument),
        .found = std::move(found),
        .expected = std::move(expected)});
}

}  // namespace heed
