// A case in words.
#pragma once

#include <string>

#include "bench/attention_cases.h"

namespace heed {

/// Type, extents, mask, layout, scores and keys, as tests and benchmarks print them.
std::string case_name(const AttentionCase& problem);

}  // namespace heed
