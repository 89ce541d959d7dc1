// Lists of ascending numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace heed {

/// `count` numbers, the first one and those after it.
template <typename T = std::int64_t>
std::vector<T> ascending(std::int64_t count, T first = 0) {
  std::vector<T> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Sorts a list by `key` and keeps one of each.
template <typename T, typename Key = std::identity>
void sort_once(std::vector<T>& list, Key key = {}) {
  std::ranges::sort(list, {}, key);
  const auto again = std::ranges::unique(list, {}, key);
  list.erase(again.begin(), again.end());
}

}  // namespace heed
