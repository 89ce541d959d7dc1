// Commands run by several processes together.
#pragma once

#include <functional>
#include <string_view>

#include "cli/options/arguments.h"
#include "heed/ranks.h"

namespace heed::cli {

/// Runs `work`; an error on one rank is printed on one line with its number, and ends all ranks,
/// because the others would wait for it.
int together(StartedRanks& ranks, const std::function<int()>& work);

/// The same for work whose ranks fail together (run_together): prints the command's single error
/// line and returns its exit status, as for a single process.
int together(StartedRanks& ranks, const Given& given, std::string_view command,
             const std::function<int()>& work);

}  // namespace heed::cli
