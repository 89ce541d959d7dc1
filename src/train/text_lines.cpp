#include <fmt/format.h>

#include <cmath>

#include "heed/error.h"
#include "train/text_data.h"

namespace heed {

std::vector<TextLine> read_lines(std::span<const std::string> data, std::vector<DataFile>& files) {
  std::vector<TextLine> lines;
  for (const std::filesystem::path& path : list_text_files(data)) {
    const std::string text = read_text(path);
    files.push_back({path.string(), static_cast<std::int64_t>(text.size())});
    std::int64_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string line = text.substr(at, end - at);
      if (line.ends_with('\r')) line.pop_back();
      lines.push_back({std::move(line), fmt::format("{}: line {}", path.string(), ++number)});
      at = end + 1;
    }
  }
  return lines;
}

std::int64_t training_rows(std::int64_t rows, double share, std::string_view unit) {
  const auto kept = static_cast<std::int64_t>(std::floor(static_cast<double>(rows) * (1 - share)));
  const auto require = [&](bool holds, std::string_view part, std::string_view or_else) {
    if (!holds)
      fail("train", "data", fmt::format("0 {} for {}", unit, part),
           fmt::format("at least one{}", or_else));
  };
  require(kept > 0, "training", "");
  require(share == 0 || kept < rows, "validation", ", or validation 0");
  return kept;
}

}  // namespace heed
