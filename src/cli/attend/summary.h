// What `heed attend` prints where no file is asked for.
#pragma once

#include <string>

#include "cli/attend/attention_options.h"
#include "heed/attention.h"

namespace heed::cli {

/// The output's shape and first rows, the range of the log-sum-exp, the mask and the kernel.
std::string attend_summary(const AttentionProblemData& problem, const Attended& attended);

}  // namespace heed::cli
