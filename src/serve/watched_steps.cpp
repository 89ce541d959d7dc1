#include "serve/watched_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace heed {
namespace {

constexpr std::string_view kPrefix = "step-";

}  // namespace

std::filesystem::path watched_step(const std::filesystem::path& folder, std::int64_t step) {
  return folder / fmt::format("{}{}", kPrefix, step);
}

std::vector<std::int64_t> watched_steps(const std::filesystem::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t step = -1;
    const char* const end = name.data() + name.size();
    const auto [stopped, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
    if (error == std::errc() && stopped == end) steps.push_back(step);
  }
  std::ranges::sort(steps);
  return steps;
}

}  // namespace heed
