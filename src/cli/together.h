// Commands that several processes run together.
#pragma once

#include <functional>
#include <string_view>

#include "cli/options/arguments.h"
#include "heed/ranks/ranks.h"

namespace heed::cli {

/// Runs `work`; what goes wrong on one rank is one line with its number, and ends all of them: the
/// others would wait for it.
int together(StartedRanks& ranks, const std::function<int()>& work);

/// The same for work whose ranks fail together (run_together): the one line is the command's, as of
/// a process by itself, and so is the exit status.
int together(StartedRanks& ranks, const Given& given, std::string_view command,
             const std::function<int()>& work);

}  // namespace heed::cli
