// The cases named by the user.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/wording.h"
#include "heed/error.h"

namespace heed {

/// The cases of `all` whose name is in `names`, in that order; all if empty; kNotFound for an
/// unknown name.
template <typename Case>
std::vector<Case> choose_cases(const std::vector<Case>& all,
                               const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<Case> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &Case::name);
    if (found == all.end()) {
      std::vector<std::string_view> known;
      for (const Case& one : all) known.push_back(one.name);
      fail("bench", "case", fmt::format("'{}'", name),
           fmt::format("one of {}", joined(known, ", ")), ErrorCode::kNotFound);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace heed
