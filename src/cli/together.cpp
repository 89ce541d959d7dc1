#include "cli/together.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace heed::cli {

int together(StartedRanks& ranks, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "heed: rank {} of {}: {}\n", ranks.rank(), ranks.count(), error.what());
    std::fflush(stderr);
    ranks.end_all(1);
    throw;
  }
}

}  // namespace heed::cli
