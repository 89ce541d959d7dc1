// A case in words.
#pragma once

#include <string>
#include <string_view>

#include "bench/attention_cases.h"

namespace heed {

/// "none", "band", "band & keep", ...
std::string_view name(CaseMask mask);
std::string_view name(Similarity similarity);

/// Type, extents, mask, layout, scores and keys, as tests and benchmarks print them.
std::string case_name(const AttentionCase& problem);

}  // namespace heed
