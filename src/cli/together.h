// Commands that several processes run together.
#pragma once

#include <functional>

#include "heed/ranks/open_ranks.h"

namespace heed::cli {

/// Runs `work`; what goes wrong on one rank is one line with its number, and ends all of them: the
/// others would wait for it.
int together(StartedRanks& ranks, const std::function<int()>& work);

}  // namespace heed::cli
