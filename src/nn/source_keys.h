// Keys of a source in a cache whose rows come to an end.
#pragma once

#include <cstdint>
#include <span>

#include "heed/nn/kv_cache.h"

namespace heed {

/// Keeps these rows (rising), renumbered 0, 1, ...; nothing where no keys were put.
void keep_rows(SourceKeys& source, std::span<const std::int64_t> rows);

}  // namespace heed
