// Keys of a source in a cache whose rows end and branch.
#pragma once

#include <cstdint>
#include <span>

#include "heed/nn/kv_cache.h"

namespace heed {

/// Row r becomes row rows[r]; does nothing without keys.
void select_rows(SourceKeys& source, std::span<const std::int64_t> rows);

}  // namespace heed
